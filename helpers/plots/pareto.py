"""Latency against throughput: which steps no other step beats in both."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.ticker import LogFormatter, ScalarFormatter

from helpers.plots.labels import annotate
from helpers.plots.style import INK, KINDS, UNPROVEN, Chart, figure, timed


@dataclass(frozen=True)
class Trade:
    """A step: seconds a call, images/s, whether its proofs hold (None: has none)."""

    name: str
    latency: float
    throughput: float
    proven: bool | None = None


def frontier(trades: Sequence[Trade]) -> list[Trade]:
    """The trades that no other one beats or equals in both, by ascending latency."""
    best: list[Trade] = []
    for trade in sorted(trades, key=lambda t: (t.latency, -t.throughput)):
        if not best or trade.throughput > best[-1].throughput:
            best.append(trade)
    return best


@timed
def pareto(trades: Sequence[Trade], *, title: str = "") -> Chart:
    """Steps as points, measured; the frontier as a line, its steps named."""
    if not trades:
        raise ValueError("no step has a result, so there is nothing to plot")
    edge = frontier([t for t in trades if t.proven is not False])
    fig, axes = figure(height=4.6)
    for trade in trades:
        unproven = trade.proven is False
        axes.plot(
            trade.latency * 1e3,
            trade.throughput,
            "X" if unproven else "o",
            color=UNPROVEN if unproven else KINDS["measured"].colour,
            markersize=7,
        )
    axes.plot(
        [t.latency * 1e3 for t in edge],
        [t.throughput for t in edge],
        color=INK,
        linewidth=1,
        drawstyle="steps-post",
    )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axes.margins(x=0.15, y=0.15)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("latency, ms a call (measured; left is better)")
    axes.set_ylabel("throughput, images/s (measured; up is better)")
    axes.set_title(title, fontsize=10, loc="left")
    fig.draw_without_rendering()  # the labels' places need the final layout
    places = [(t.name, t.latency * 1e3, t.throughput) for t in edge]
    annotate(axes, *zip(*places, strict=True))
    return Chart(fig, _alt(trades, edge))


def _alt(trades: Sequence[Trade], edge: Sequence[Trade]) -> str:
    listed = "; ".join(
        f"{t.name} {t.latency * 1e3:.0f} ms and {t.throughput:.1f} images/s"
        for t in edge
    )
    lost = ", ".join(t.name for t in trades if t.proven is False)
    words = f" Unproven and therefore not on it: {lost}." if lost else ""
    return (
        f"Scatter plot of latency against throughput of {len(trades)} steps, measured. "
        f"Not beaten in both: {listed}.{words}"
    )

"""A scaling curve: throughput and latency against one quantity."""

from collections.abc import Sequence

from helpers.plots.style import ACCENTS, KINDS, Chart, figure, timed


@timed
def curve(
    sizes: Sequence[int],
    throughput: Sequence[float],
    latency: Sequence[float],
    *,
    xlabel: str,
    unit: str = "images/s",
    mark: tuple[int, str] | None = None,
    title: str = "",
) -> Chart:
    """Throughput (left axis) and latency (right axis) against `sizes`, measured.

    Parameters
    ----------
    sizes : sequence of int
        The quantity on the x axis, drawn on a base-2 logarithmic scale.
    throughput : sequence of float
        In `unit`.
    latency : sequence of float
        Seconds a call.
    mark : (size, words), optional
        One size to point at.
    """
    fig, axes = figure()
    axes.plot(sizes, throughput, "o-", color=KINDS["measured"].colour)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(0, max(throughput) * 1.25)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(
        f"throughput, {unit} (filled, measured)", color=KINDS["measured"].colour
    )
    right = axes.twinx()
    right.plot(sizes, [s * 1e3 for s in latency], "s--", color=ACCENTS[1], mfc="white")
    right.set_ylim(0, None)
    right.set_ylabel("latency, ms a batch (hollow, measured)", color=ACCENTS[1])
    right.grid(visible=False)
    right.spines["right"].set_visible(True)
    axes.set_title(title, fontsize=10, loc="left")
    if mark:
        size, words = mark
        rate = throughput[list(sizes).index(size)]
        axes.annotate(
            words,
            (size, rate),
            xytext=(0, 22),
            textcoords="offset points",
            ha="center",
            arrowprops={"arrowstyle": "->"},
        )
    points = (
        f"{size}: {rate:.1f} {unit}, {seconds * 1e3:.0f} ms"
        for size, rate, seconds in zip(sizes, throughput, latency, strict=True)
    )
    return Chart(fig, f"{xlabel} against throughput and latency. {'; '.join(points)}.")

"""Times of the same work: predicted as ranges, published and measured as points."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpers.plots import style


@dataclass(frozen=True)
class Timed:
    """What is known of one way to do the work, in seconds; None: not known."""

    predicted: tuple[float, float] | None = None  # fast and slow end
    published: float | None = None
    measured: float | None = None


@style.timed
def ranges(rows: Mapping[str, Timed]) -> style.Chart:
    """One row a way to do the work, on a logarithmic axis of milliseconds.

    Predicted times are hatched bars from their fast to their slow end, published ones
    squares, measured ones discs.
    """
    axes: Any
    fig, axes = style.figure(height=1.4 + 0.5 * len(rows))
    for number, row in enumerate(rows.values()):
        _draw(axes, number, row)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.use_sticky_edges = False
    axes.margins(x=0.2, y=0.12)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("time, ms (logarithmic; less is better)")
    handles, names = axes.get_legend_handles_labels()
    unique = dict(zip(names, handles, strict=True))
    fig.legend(unique.values(), unique, loc="outside lower center", ncols=len(unique))
    return style.Chart(fig, _alt(rows))


def _draw(axes, number: int, row: Timed) -> None:
    if row.predicted:
        kind = style.KINDS["predicted"]
        fast, slow = (1e3 * seconds for seconds in row.predicted)
        axes.barh(
            number,
            slow - fast,
            left=fast,
            height=0.5,
            color=kind.colour,
            hatch=kind.hatch,
            edgecolor=style.PAPER,
            label="predicted",
        )
        axes.annotate(f"  {fast:.2g} to {slow:.2g}", (slow, number), va="center")
    for name, marker in (("published", "s"), ("measured", "o")):
        seconds = getattr(row, name)
        if seconds is not None:
            axes.plot(
                1e3 * seconds,
                number,
                marker,
                color=style.KINDS[name].colour,
                markeredgecolor=style.PAPER,
                markersize=9,
                linestyle="none",
                label=name,
            )
            axes.annotate(
                f"    {1e3 * seconds:.2g}", (1e3 * seconds, number), va="center"
            )


def _alt(rows: Mapping[str, Timed]) -> str:
    texts = []
    for name, row in rows.items():
        known = []
        if row.predicted:
            fast, slow = (1e3 * seconds for seconds in row.predicted)
            known.append(f"predicted {fast:.3g} to {slow:.3g} ms")
        known += [
            f"{kind} {1e3 * seconds:.3g} ms"
            for kind in ("published", "measured")
            if (seconds := getattr(row, kind)) is not None
        ]
        texts.append(f"{name}: {', '.join(known) or 'not known'}")
    return f"Times of the same work. {'; '.join(texts)}."

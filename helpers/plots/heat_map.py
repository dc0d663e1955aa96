"""A heat map: one measured number for each pair of two whole quantities."""

import math
from collections.abc import Collection, Mapping

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from helpers.plots.style import GRID, INK, KINDS, PAPER, UNPROVEN, Chart, figure, timed

Pair = tuple[int, int]
BLUES = LinearSegmentedColormap.from_list(
    "measured", ["#eef3f8", KINDS["measured"].colour]
)


@timed
def heat_map(
    values: Mapping[Pair, float],
    *,
    rows: str,
    columns: str,
    unit: str,
    words: Mapping[Pair, str] | None = None,
    dashed: Collection[Pair] = (),
    because: str = "",
    title: str = "",
) -> Chart:
    """A square with its number for each (row, column), the colour from 0 to the most.

    Parameters
    ----------
    values : mapping (row, column) -> number
        In `unit`, measured; NaN is a failure, and a pair without a value is left empty.
    rows, columns : str
        What the two quantities are.
    words : mapping (row, column) -> str, optional
        A second line in the square.
    dashed : collection of (row, column), optional
        Squares with a dashed border; `because` says under the plot what they are.
    """
    down = sorted({row for row, _ in values})
    across = sorted({column for _, column in values})
    most = max((v for v in values.values() if not math.isnan(v)), default=1.0)
    fig, axes = figure(width=1.8 + 1.5 * len(across), height=1.4 + 0.95 * len(down))
    for y, row in enumerate(down):
        for x, column in enumerate(across):
            pair = (row, column)
            _square(axes, (x, y), values.get(pair), most, pair in dashed)
            _number(axes, (x, y), values.get(pair), most, (words or {}).get(pair, ""))
    axes.set_xticks(range(len(across)), map(str, across))
    axes.set_yticks(range(len(down)), map(str, down))
    axes.set_xlim(-0.5, len(across) - 0.5)
    axes.set_ylim(len(down) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(columns + (f"\n\ndashed: {because}" if dashed else ""))
    axes.set_ylabel(rows)
    axes.set_title(f"{title}\n{unit}, measured".strip(), fontsize=10, loc="left")
    return Chart(fig, _alt(values, rows, columns, unit, dashed, because))


def _square(axes, place, value: float | None, most: float, dashed: bool) -> None:
    x, y = place
    share = math.nan if value is None else value / most
    axes.add_patch(
        Rectangle(
            (x - 0.47, y - 0.45),
            0.94,
            0.9,
            facecolor=PAPER if math.isnan(share) else BLUES(share),
            edgecolor=INK if dashed else GRID,
            linestyle="--" if dashed else "-",
            linewidth=1.4 if dashed else 1,
        )
    )


def _number(axes, place, value: float | None, most: float, words: str) -> None:
    if value is None:
        return
    failed = math.isnan(value)
    # white has the greater contrast on the darkest fifth of the blues
    colour = UNPROVEN if failed else "white" if value / most > 0.8 else INK
    text = "failed" if failed else f"{value:.3g}"
    x, y = place
    up = 0.12 if words else 0.0
    centred = {"ha": "center", "va": "center", "color": colour}
    axes.text(x, y - up, text, fontsize=13, fontweight="bold", **centred)
    axes.text(x, y + 0.2, words, fontsize=8, **centred)


def _alt(values, rows, columns, unit, dashed, because) -> str:
    def said(pair: Pair) -> str:
        row, column = pair
        value = values[pair]
        number = "failed" if math.isnan(value) else f"{value:.3g}"
        return f"{row} by {column}{' (dashed)' if pair in dashed else ''}: {number}"

    listed = "; ".join(said(pair) for pair in sorted(values))
    note = f" Dashed: {because}." if dashed else ""
    return (
        f"Heat map of {unit}, measured; rows are {rows}, columns {columns}. "
        f"{listed}.{note}"
    )

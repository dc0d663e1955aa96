"""Place text beside points so that no two labels cover each other."""

from collections.abc import Sequence

from matplotlib import patheffects

from helpers.plots import style

_CHARACTER = 5.2  # points a character of 8-point text takes, on average
_LINE = 10.0
HALO = (patheffects.withStroke(linewidth=2.5, foreground=style.PAPER),)
# offsets in points from the marker, and how the text hangs on them
_PLACES = (
    (7.0, 4.0, "left"),
    (7.0, -11.0, "left"),
    (-7.0, 4.0, "right"),
    (-7.0, -11.0, "right"),
    (7.0, 16.0, "left"),
    (7.0, -23.0, "left"),
    (-7.0, 16.0, "right"),
    (-7.0, -23.0, "right"),
    (7.0, 28.0, "left"),
    (7.0, -35.0, "left"),
)


def annotate(axes, labels: Sequence[str], xs: Sequence[float], ys: Sequence[float]):
    """Write each label beside its point, at the first place that is still free.

    Call it when the limits of the axes are final: places are compared in points.
    """
    scale = 72 / axes.figure.dpi
    inside = axes.get_window_extent()
    taken: list[tuple[float, float, float, float]] = []
    for label, x, y in zip(labels, xs, ys, strict=True):
        at_x, at_y = axes.transData.transform((x, y)) * scale
        dx, dy, align = _free_place(label, at_x, at_y, taken, inside.x1 * scale)
        taken.append(_box(label, at_x + dx, at_y + dy, align))
        axes.annotate(
            label,
            (x, y),
            xytext=(dx, dy),
            textcoords="offset points",
            ha=align,
            fontsize=8,
            path_effects=HALO,
        )


def _free_place(label, x, y, taken, right):
    for dx, dy, align in _PLACES:
        box = _box(label, x + dx, y + dy, align)
        if box[2] <= right and not any(_overlap(box, other) for other in taken):
            return dx, dy, align
    return _PLACES[0]


def _box(label, x, y, align):
    width = _CHARACTER * len(label)
    left = x if align == "left" else x - width
    return left, y, left + width, y + _LINE


def _overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

"""Pairs of boxes: overlap, union and the box that encloses both."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle

from helpers.plots import style

_ENCLOSING = {"fill": False, "linestyle": "--", "edgecolor": style.INK}


def box_pairs(
    titles: Sequence[str], first: np.ndarray, second: np.ndarray, values: np.ndarray
) -> style.Chart:
    """Draw box pairs side by side, each with its GIoU.

    Parameters
    ----------
    titles
        One for each pair.
    first, second
        (pairs, 4) as x1, y1, x2, y2.
    values
        GIoU of each pair, as computed.
    """
    fig, axes = style.figure(2.5 * len(titles), 2.9, ncols=len(titles), squeeze=False)
    for ax, title, a, b, value in zip(
        axes[0], titles, first, second, values, strict=True
    ):
        _draw(ax, a, b)
        ax.set_title(f"{title}\nGIoU {value:+.2f}", fontsize=10)
    said = ", ".join(f"{t} {v:+.2f}" for t, v in zip(titles, values, strict=True))
    return style.Chart(
        fig,
        "Pairs of boxes, solid and hatched, with their enclosing box dashed; GIoU: "
        f"{said}.",
    )


def _draw(ax, a: np.ndarray, b: np.ndarray) -> None:
    for box, colour, hatch in zip(
        (a, b), style.ACCENTS[:2], (None, "///"), strict=False
    ):
        look = {"facecolor": colour, "alpha": 0.35, "edgecolor": colour, "hatch": hatch}
        ax.add_patch(_rectangle(box, **look))
    low, high = np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])
    ax.add_patch(_rectangle(np.concatenate([low, high]), linewidth=1.5, **_ENCLOSING))
    margin = 0.08 * (high - low).max()
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(high[1] + margin, low[1] - margin)  # y grows downwards, as in images
    ax.set_aspect("equal")
    ax.set_xlabel("x (pixels)")
    ax.set_ylabel("y (pixels)")


def _rectangle(box: np.ndarray, **look) -> Rectangle:
    left, top, right, bottom = map(float, box)
    return Rectangle((left, top), right - left, bottom - top, **look)

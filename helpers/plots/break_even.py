"""When has a set-up paid for itself? Seconds against images, a line a step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.plots.style import ACCENTS, Chart, figure, timed


@dataclass(frozen=True)
class Cost:
    """A step's price: seconds before its second call, and seconds an image after it."""

    name: str
    setup: float
    per_image: float

    def seconds(self, images):
        return self.setup + self.per_image * images


def paid_after(step: Cost, baseline: Cost) -> float:
    """Images after which `step` has cost less than `baseline`; infinite if never."""
    saved = baseline.per_image - step.per_image
    extra = step.setup - baseline.setup
    if extra <= 0:
        return 0.0 if saved >= 0 else math.inf
    return extra / saved if saved > 0 else math.inf


@timed
def break_even(costs: Sequence[Cost], *, title: str = "") -> Chart:
    """Total seconds of each step against images; the first one is the baseline.

    A dot marks where a line falls below the baseline's.
    """
    baseline, *others = costs
    crossings = {c.name: paid_after(c, baseline) for c in others}
    finite = [x for x in crossings.values() if 0 < x < math.inf]
    most = 4 * max(finite, default=1000.0)
    images = np.geomspace(1, most, 100)
    fig, axes = figure(height=4.4)
    for row, cost in enumerate(costs):
        colour = ACCENTS[row % len(ACCENTS)]
        style = "--" if cost is baseline else "-"
        axes.plot(images, cost.seconds(images), style, color=colour, label=cost.name)
        crossing = crossings.get(cost.name, math.inf)
        if 0 < crossing < math.inf:
            axes.plot(crossing, cost.seconds(crossing), "o", color=colour)
            axes.annotate(
                f"{crossing:,.0f}",
                (crossing, cost.seconds(crossing)),
                xytext=(4, -12),
                textcoords="offset points",
                fontsize=8,
                color=colour,
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("images")
    axes.set_ylabel("seconds with set-up (measured rates, extended)")
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=8, frameon=False)
    return Chart(fig, _alt(baseline, crossings))


def _alt(baseline: Cost, crossings: dict[str, float]) -> str:
    parts = [
        f"{name} after {images:,.0f} images" if images < math.inf else f"{name} never"
        for name, images in crossings.items()
    ]
    return (
        "Lines of total seconds against images, from measured set-up and rate. "
        f"Cheaper than {baseline.name}: {'; '.join(parts)}."
    )

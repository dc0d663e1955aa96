"""How times grow with the size of the work, on logarithmic axes."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import LogLocator

from helpers.plots.style import ACCENTS, Chart, figure, timed

_MARKERS = ("o", "s", "^", "D")


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent of a power law through the points: 1 is proportional, 0 is flat."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


@timed
def scaling(
    sizes: Sequence[float],
    seconds: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    title: str = "",
) -> Chart:
    """A line for each label, its slope in the legend; measured times in seconds."""
    fig, axes = figure(7.5, 4.4)
    words = {}
    for (label, times), colour, marker in zip(
        seconds.items(), ACCENTS, _MARKERS, strict=False
    ):
        words[label] = f"{label} (slope {slope(sizes, times):.2f})"
        milliseconds = [t * 1e3 for t in times]
        axes.plot(sizes, milliseconds, f"{marker}-", color=colour, label=words[label])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_xlabel(xlabel)
    axes.set_ylabel("ms a call (measured)")
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=9)
    return Chart(fig, _alt(sizes, seconds, words, xlabel))


def _alt(sizes, seconds, words, xlabel: str) -> str:
    lines = (
        f"{words[label]}: {', '.join(f'{t * 1e3:.3g} ms' for t in times)}"
        for label, times in seconds.items()
    )
    ticks = ", ".join(f"{size:g}" for size in sizes)
    return f"Measured time a call against {xlabel} of {ticks}. {'; '.join(lines)}."

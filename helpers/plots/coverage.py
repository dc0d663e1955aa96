"""Which part of an operator's output was written, and by how many cores."""

from itertools import pairwise

import numpy as np

from helpers.plots.style import ACCENTS, UNPROVEN, Chart, figure

_BINS = 512


def coverage(versions: dict[str, np.ndarray], cores: int = 8) -> Chart:
    """One strip a version: number of cores that wrote, along the flattened output.

    Parameters
    ----------
    versions : dict of label to array
        Per output element, the number of cores that wrote it (a report's
        ``writers``). An element nobody wrote is marked below the axis.
    cores : int
        Top of the scale.
    """
    fig, grid = figure(
        height=0.7 + 1.2 * len(versions),
        nrows=len(versions),
        sharex=True,
        squeeze=False,
    )
    for axes, (label, writers) in zip(grid[:, 0], versions.items(), strict=True):
        _strip(axes, writers)
        axes.set_ylim(-0.8, cores + 0.5)
        axes.set_yticks([1, cores])
        axes.set_title(label, fontsize=9, loc="left")
        axes.set_ylabel("cores")
    grid[-1, 0].set_xlabel("output element (red, below the axis: nobody wrote it)")
    return Chart(fig, _alt(versions))


def _strip(axes, writers: np.ndarray) -> None:
    edges = np.linspace(0, writers.size, min(_BINS, writers.size) + 1).astype(int)
    parts = [writers[a:b] for a, b in pairwise(edges)]
    most = np.array([part.max() for part in parts])
    gaps = np.array([part.min() == 0 for part in parts])
    axes.stairs(most, edges, fill=True, color=ACCENTS[0])
    axes.stairs(np.where(gaps, -0.7, 0), edges, fill=True, color=UNPROVEN)


def _alt(versions: dict[str, np.ndarray]) -> str:
    shares = (
        f"{label}: {np.mean(by > 0):.1%} of the output written, "
        f"{np.mean(by > 1):.1%} by more than one core"
        for label, by in versions.items()
    )
    return "Cores that wrote each output element. " + "; ".join(shares) + "."

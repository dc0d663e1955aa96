"""How often a slow-down is caught, against how many runs are compared."""

from collections.abc import Mapping, Sequence

from helpers.plots.style import ACCENTS, INK, Chart, figure

MARKERS = "osD^vP"


def power(
    runs: Sequence[int],
    caught: Mapping[str, Sequence[float]],
    *,
    aim: float = 0.9,
    title: str = "",
) -> Chart:
    """One line an effect: the share of comparisons (0 to 1) that catch it.

    Parameters
    ----------
    runs : sequence of int
        Runs on either side of a comparison.
    caught : mapping from the effect in words to one share for each of `runs`
    aim : float
        Drawn as a line: what counts as enough.
    """
    fig, axes = figure()
    for row, (effect, shares) in enumerate(caught.items()):
        colour, marker = ACCENTS[row % len(ACCENTS)], MARKERS[row % len(MARKERS)]
        axes.plot(runs, shares, marker=marker, color=colour, label=effect)
    axes.axhline(aim, linestyle="--", linewidth=1, color=INK)
    axes.set_xticks(list(runs))
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("runs on either side of the comparison")
    axes.set_ylabel("share called a slow-down (simulated)")
    axes.set_title(title, fontsize=10, loc="left")
    fig.legend(title="slow-down", fontsize=8, frameon=False, loc="outside right center")
    enough = [f"{effect}: {first(runs, s, aim)}" for effect, s in caught.items()]
    return Chart(
        fig,
        "Lines of the share of comparisons that call a slow-down, against the runs on "
        f"either side. Runs from which {aim:.0%} are caught: {'; '.join(enough)}.",
    )


def first(runs: Sequence[int], shares: Sequence[float], aim: float) -> str:
    """The fewest runs whose share reaches the aim, in words."""
    enough = [n for n, share in zip(runs, shares, strict=True) if share >= aim]
    return str(enough[0]) if enough else "none of these"

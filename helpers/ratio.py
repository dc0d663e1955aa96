"""The ratio of two steps from paired rounds, with a 95 % interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Two processes that run the same code differ however long they are timed: their code
# and memory lie elsewhere. In 54 races of a step with itself (11 ms a call), made in
# three sessions, the ratios had standard deviations of 1.2 %, 1.7 % and 3.0 %, and were
# the same in both halves of a race. No number of rounds averages that away, so one race
# decides nothing that is smaller than this.
PLACEMENT = 0.03


@dataclass(frozen=True)
class Ratio:
    """A speed-up (above 1: faster than the baseline) with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """The interval excludes 1."""
        return self.low > 1 or self.high < 1

    def __str__(self) -> str:
        return f"{self.value:.2f}x [{self.low:.2f}, {self.high:.2f}]"


def paired_ratio(
    rounds: Sequence[Sequence[float]], baseline: Sequence[Sequence[float]]
) -> Ratio:
    """How many times faster `rounds` are than `baseline`'s rounds of the same race.

    Each round gives one log ratio of medians. The estimate is their Hodges-Lehmann
    centre and the interval is the signed-rank one, which holds its 95 % for as few as
    six rounds and shrugs off a round that something else disturbed, widened by
    `PLACEMENT` at either end. (A percentile bootstrap of six rounds covers less than it
    says: tests/helpers/test_ratio.py counts it.)
    Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, ch. 3.

    Parameters
    ----------
    rounds, baseline : sequences of rounds, each a sequence of seconds
        Paired by position; the longer one is cut.
    """
    pairs = list(zip(rounds, baseline, strict=False))
    if not pairs:
        raise ValueError("no rounds to compare")
    logs = [math.log(np.median(b) / np.median(r)) for r, b in pairs]
    centre, low, high = signed_rank_interval(np.array(logs))
    return Ratio(
        math.exp(centre),
        math.exp(low) * (1 - PLACEMENT),
        math.exp(high) * (1 + PLACEMENT),
    )


def signed_rank_interval(
    values: np.ndarray, level: float = 0.95
) -> tuple[float, float, float]:
    """Hodges-Lehmann centre of values and its signed-rank interval.

    With fewer than six values no interval reaches 95 %; it is then infinite.
    """
    i, j = np.triu_indices(len(values))
    walsh = np.sort((values[i] + values[j]) / 2)
    centre = float(np.median(walsh))
    cut = _signed_rank_quantile(len(values), (1 - level) / 2)
    if cut == 0:
        return centre, -math.inf, math.inf
    return centre, float(walsh[cut - 1]), float(walsh[len(walsh) - cut])


def _signed_rank_quantile(n: int, tail: float) -> int:
    """How many of the smallest Walsh averages the exact null distribution cuts off."""
    counts = np.ones(1)  # number of subsets of ranks 1..k by their sum
    for rank in range(1, n + 1):
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts
        longer[rank:] += counts
        counts = longer
    probability = np.cumsum(counts) / 2.0**n
    return int(np.searchsorted(probability, tail, side="right"))

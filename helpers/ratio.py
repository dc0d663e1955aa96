"""The ratio of two steps from paired rounds, with a 95 % interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

# Two processes that run the same code differ however long they are timed: their code
# and memory lie elsewhere. In 54 races of a step with itself (11 ms a call), made in
# three sessions, the log ratios had standard deviations of 1.2 %, 1.7 % and 3.0 %, and
# were the same in both halves of a race. No number of rounds averages that away; only
# launching the processes again does.
PLACEMENT = 0.025
KNOWN = 4.0  # degrees of freedom of a measured spread that PLACEMENT is worth


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


Rounds = Sequence[Sequence[float]]  # seconds a call, by round


def paired_ratio(launches: Sequence[Rounds], baseline: Sequence[Rounds]) -> Ratio:
    """How many times faster a step is than the baseline of the same race.

    Each round gives one log ratio of medians, each launch the Hodges-Lehmann centre of
    its rounds; the estimate is the mean of the launches. Its interval adds two
    uncertainties in quadrature. That of the rounds is the signed-rank interval of what
    they differ from their launch's centre by: it holds its 95 % for as few as six
    rounds and shrugs off a round that something else disturbed. (A percentile
    bootstrap of six rounds covers less than it says: tests/helpers/test_ratio.py
    counts it.) That of the launches is Student's, of the variance between them, to
    which `PLACEMENT` contributes with its `KNOWN` degrees of freedom: of one launch it
    is all there is.
    Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, ch. 3; for
    the launches see `moderated`.

    Parameters
    ----------
    launches, baseline : sequences of launches, each of rounds, each of seconds
        Paired by position; the longer one is cut.
    """
    pairs = zip(launches, baseline, strict=False)
    logs = [found for pair in pairs if len(found := _log_ratios(*pair))]
    if not logs:
        raise ValueError("no rounds to compare")
    centres = [signed_rank_interval(launch)[0] for launch in logs]
    around = np.concatenate([x - c for x, c in zip(logs, centres, strict=True)])
    _, low, high = signed_rank_interval(around)
    centre, reach = float(np.mean(centres)), _reach_of_launches(centres)
    return Ratio(
        math.exp(centre),
        math.exp(centre - math.hypot(low, reach)),
        math.exp(centre + math.hypot(high, reach)),
    )


def _log_ratios(rounds: Rounds, baseline: Rounds) -> np.ndarray:
    pairs = zip(rounds, baseline, strict=False)
    return np.array([math.log(np.median(b) / np.median(r)) for r, b in pairs])


def _reach_of_launches(centres: list[float]) -> float:
    """Half the 95 % interval of the mean of launches, for what differs between them."""
    variance, degrees = moderated([np.array(centres)], PLACEMENT**2, KNOWN)
    return float(stats.t.ppf(0.975, degrees)) * math.sqrt(variance / len(centres))


def moderated(
    groups: Sequence[np.ndarray], known: float, weight: float
) -> tuple[float, float]:
    """The variance within groups, helped out by a known one, and its degrees.

    The known variance counts with `weight` degrees of freedom, each group with one
    fewer than it has values: with one value a group, the known one is all there is.
    Source: Smyth 2004, Linear models and empirical Bayes methods for assessing
    differential expression, section 3 (the moderated t).
    """
    degrees = weight + sum(len(group) - 1 for group in groups)
    seen = sum(float(np.sum((g - g.mean()) ** 2)) for g in groups)
    return (weight * known + seen) / degrees, degrees


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

"""How far a step moved from some runs to others, and the smallest move they can show.

Two processes that run the same code differ however long they are timed (see
`helpers.ratio.PLACEMENT`), so the rounds of one run say nothing about how the next
run will differ. What counts as noise here is therefore the spread from run to run:
measured where several runs are given, helped out by an earlier estimate where few are.
First used in notebook 17_regression_runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from helpers.ratio import Ratio, moderated


@dataclass(frozen=True)
class Prior:
    """What is known of the spread from run to run before these runs were made.

    `spread` is the standard deviation of a run's log ratio; `weight` says how many
    degrees of freedom of a measured spread it is worth.
    """

    spread: float
    weight: float = 4.0


# Of 20 races of a step with itself (tests/data/equal_races.json), by what
# the step was divided by. The anchor is other code, which a busy machine slows down
# differently; the baseline is nearly the same code.
PRIORS = {"baseline": Prior(0.018), "anchor": Prior(0.14)}


@dataclass(frozen=True)
class Shift:
    """A change of throughput from base runs to new ones.

    `change` is new over old with its 95 % interval; `smallest` the change (0.05: 5 %)
    that runs like these would show in nine of ten cases.
    """

    change: Ratio
    smallest: float

    def direction(self, floor: float) -> int:
        """1 faster, -1 slower, 0 no change: noise, or smaller than the floor."""
        if not self.change.differs or abs(self.change.value - 1) <= floor:
            return 0
        return 1 if self.change.value > 1 else -1

    def __str__(self) -> str:
        c = self.change
        return f"{c.value - 1:+.1%} [{c.low - 1:+.1%}, {c.high - 1:+.1%}]"


def centre(
    rounds: Sequence[Sequence[float]], control: Sequence[Sequence[float]]
) -> tuple[float, float]:
    """One run's log of control's seconds over a step's, and its standard error.

    Parameters
    ----------
    rounds, control : sequences of rounds, each a sequence of seconds an image
        Of the same race; paired by position, so that the machine's moods cancel.

    Returns
    -------
    (float, float)
        The median over rounds, which shrugs off disturbed ones, and its standard
        error. (Of the recorded races it spread from race to race by 1.8 %, the
        Hodges-Lehmann centre of the same rounds by 2.8 %.)
    """
    pairs = list(zip(rounds, control, strict=False))
    logs = np.array([math.log(np.median(c) / np.median(r)) for r, c in pairs])
    spread = float(stats.median_abs_deviation(logs, scale="normal"))
    # the median of n normal values has a standard error of 1.253 times their mean's
    return float(np.median(logs)), 1.253 * spread / math.sqrt(len(logs))


def shift(
    old: Sequence[tuple[float, float]],
    new: Sequence[tuple[float, float]],
    prior: Prior,
    *,
    floor: float = 0.03,
) -> Shift:
    """The change from old runs to new ones, each given by its `centre`.

    The variance of a run is the prior's and that of the runs given, weighted by their
    degrees of freedom; the interval is Student's with the degrees of both. With one
    run on either side that is the prior alone, with many it is what they show (see
    `helpers.ratio.moderated`).

    Raises
    ------
    ValueError
        If there is no run on one side.
    """
    if not old or not new:
        raise ValueError("a shift needs at least one old and one new run")
    before, after = (np.array([middle for middle, _ in runs]) for runs in (old, new))
    within = float(np.mean([error**2 for _, error in (*old, *new)]))
    known = prior.spread**2 + within
    variance, degrees = moderated([before, after], known, prior.weight)
    error = math.sqrt(variance * (1 / len(before) + 1 / len(after)))
    reach = float(stats.t.ppf(0.975, degrees)) * error
    move = float(after.mean() - before.mean())
    change = Ratio(math.exp(move), math.exp(move - reach), math.exp(move + reach))
    return Shift(change, max(reach, floor) + float(stats.norm.ppf(0.9)) * error)


def power(
    effect: float,
    *,
    runs: tuple[int, int],
    spread: float,
    prior: Prior = PRIORS["baseline"],
    floor: float = 0.03,
    times: int = 400,
    seed: int = 0,
) -> float:
    """How often a slow-down is called one, by simulation of runs with a known spread.

    Parameters
    ----------
    effect : float
        How much slower: 0.05 is 5 % more seconds; 0 gives the rate of false alarms.
    runs : (int, int)
        How many base and how many new runs a comparison has.
    spread : float
        Standard deviation of a run's log ratio, from run to run.
    """
    rng = np.random.default_rng(seed)

    def some(count: int, move: float) -> list[tuple[float, float]]:
        return [(x, 0.0) for x in rng.normal(-move, spread, count)]

    move = math.log1p(effect)
    found = [
        shift(some(runs[0], 0.0), some(runs[1], move), prior, floor=floor)
        for _ in range(times)
    ]
    return sum(one.direction(floor) < 0 for one in found) / times

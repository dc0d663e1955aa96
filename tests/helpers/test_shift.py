"""The statistics of compare: on recorded races of equal steps, and by simulation."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from helpers import shift
from helpers.shift import PRIORS, Prior

RACES = json.loads(
    (Path(__file__).parents[1] / "data" / "equal_races.json").read_text()
)
FLOOR = 0.03


def rounds(race, name, factor=1.0):
    return [[factor * 1e-3 * milliseconds] for milliseconds in race[name]]


def recorded(control, factor=1.0):
    """The centre of each recorded race, its step slowed down by a factor."""
    return [
        shift.centre(rounds(race, "same", factor), rounds(race, control))
        for race in RACES
    ]


def alarms(old, new, prior, *, sizes, times=400):
    """How often a random split of recorded runs is called a slow-down."""
    rng, count = np.random.default_rng(1), 0
    for _ in range(times):
        picked = rng.permutation(len(old))
        before = [old[i] for i in picked[: sizes[0]]]
        after = [new[i] for i in picked[sizes[0] : sum(sizes)]]
        moved = shift.shift(before, after, prior, floor=FLOOR)
        count += moved.direction(FLOOR) < 0
    return count / times


@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (5, 3), (8, 4)])
@pytest.mark.parametrize(("by", "prior"), [("one", "baseline"), ("anchor", "anchor")])
def test_recorded_equal_races_seldom_alarm(by, prior, sizes):
    runs = recorded(by)
    assert alarms(runs, runs, PRIORS[prior], sizes=sizes) <= 0.05


def test_an_interval_over_rounds_alone_would_have_alarmed():
    """Why the spread from run to run is what counts, not the rounds of one run."""
    runs = recorded("anchor")
    errors = [error for _, error in runs]
    spread = np.std([middle for middle, _ in runs], ddof=1)
    assert spread > 2 * np.median(errors)


def test_recorded_races_slowed_by_five_percent_are_caught_by_several_runs():
    equal, slow = recorded("one"), recorded("one", 1.05)
    few = alarms(equal, slow, PRIORS["baseline"], sizes=(1, 1))
    many = alarms(equal, slow, PRIORS["baseline"], sizes=(10, 10))
    assert many > few
    assert alarms(equal, recorded("one", 1.2), PRIORS["baseline"], sizes=(1, 1)) > 0.9


@pytest.mark.parametrize("spread", [0.005, 0.01, 0.018])
@pytest.mark.parametrize("runs", [(1, 1), (3, 3), (8, 4)])
def test_simulated_runs_alarm_within_what_the_interval_says(spread, runs):
    assert shift.power(0.0, runs=runs, spread=spread) <= 0.05


def test_more_runs_and_less_spread_see_more():
    by_runs = [shift.power(0.05, runs=(n, n), spread=0.018) for n in (1, 4, 12)]
    assert by_runs == sorted(by_runs)
    assert by_runs[-1] > 0.9
    assert shift.power(0.05, runs=(5, 5), spread=0.005) > 0.95


def test_with_one_run_each_the_prior_decides():
    moved = shift.shift([(0.0, 0.0)], [(-0.05, 0.0)], Prior(0.02, weight=4))
    reach = 2.7764 * 0.02 * math.sqrt(2)  # Student's 97.5 % with 4 degrees
    assert moved.change.low == pytest.approx(math.exp(-0.05 - reach), rel=1e-3)
    assert moved.direction(FLOOR) == 0


def test_many_runs_overrule_the_prior():
    rng = np.random.default_rng(3)
    calm = [(x, 0.0) for x in rng.normal(0, 0.001, 60)]
    moved = shift.shift(calm[:30], calm[30:], Prior(0.05))
    width = math.log(moved.change.high / moved.change.low)
    assert width < 0.02


def test_a_wild_round_does_not_move_a_centre():
    calm = [[0.01]] * 10
    wild = [[0.01]] * 9 + [[0.09]]
    assert shift.centre(wild, calm)[0] == pytest.approx(0.0, abs=1e-9)


def test_no_runs_is_an_error():
    with pytest.raises(ValueError, match="needs at least one old"):
        shift.shift([], [(0.0, 0.0)], PRIORS["anchor"])

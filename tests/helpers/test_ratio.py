"""The ratio of two steps: right, covered, robust."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.ratio import PLACEMENT, paired_ratio, signed_rank_interval


def rounds_of(values):
    return [[value] for value in values]


def launched(*values):
    """Launches of a step from the seconds of their rounds."""
    return [rounds_of(launch) for launch in values]


def reach(ratio):
    """How far above its value the interval goes, as a log."""
    return math.log(ratio.high / ratio.value)


def test_twice_as_fast_is_two():
    base = [2.0, 2.2, 1.8, 2.1, 1.9, 2.0, 2.05]
    ratio = paired_ratio(launched([v / 2 for v in base]), launched(base))
    assert ratio.value == pytest.approx(2)
    assert ratio.differs


def test_noise_that_moves_both_cancels():
    weather = [1.0, 5.0, 1.2, 3.0, 0.9, 2.0, 1.1, 4.0]
    ratio = paired_ratio(launched(weather), launched([w * 1.1 for w in weather]))
    assert ratio.value == pytest.approx(1.1)
    # what is left is what two launches may differ by: Student's with 4 degrees
    assert reach(ratio) == pytest.approx(2.776 * PLACEMENT, rel=1e-3)


def test_a_difference_as_small_as_that_of_two_equal_processes_is_none():
    base = launched([1.0] * 12)
    assert not paired_ratio(launched([0.96] * 12), base).differs
    assert paired_ratio(launched([0.9] * 12), base).differs


def test_launches_that_agree_tighten_the_interval_and_others_widen_it():
    one = paired_ratio(launched([1.0] * 12), launched([1.0] * 12))
    four = paired_ratio(launched(*[[1.0] * 3] * 4), launched(*[[1.0] * 3] * 4))
    apart = paired_ratio(
        launched([1.0] * 6, [1.0] * 6), launched([0.8] * 6, [1.25] * 6)
    )
    assert reach(four) < reach(one) / 2
    assert apart.value == pytest.approx(1)
    assert reach(apart) > 2 * reach(one)


@pytest.mark.parametrize(("launches", "spread"), [(1, 0.02), (2, 0.02), (3, 0.025)])
def test_the_ratio_covers_what_differs_from_launch_to_launch(launches, spread):
    """Simulated: each launch of each of two equal steps has a speed of its own."""
    rng = np.random.default_rng(launches)
    found = []
    for _ in range(300):
        speeds = np.exp(rng.normal(0, spread / math.sqrt(2), (2, launches, 1)))
        seconds = speeds * np.exp(rng.normal(0, 0.01, (2, launches, 6)))
        found.append(paired_ratio(*(launched(*step) for step in seconds)))
    covered = sum(not ratio.differs for ratio in found) / len(found)
    print(f"{launches} launches: {covered:.1%} of the intervals hold the true value")
    assert covered >= 0.92


def test_five_rounds_give_no_interval():
    _, low, high = signed_rank_interval(np.arange(5.0))
    assert (low, high) == (-math.inf, math.inf)


def test_six_rounds_give_the_range_of_walsh_averages():
    # 2 / 2**6 = 3.1 % is the first two-sided tail below 5 %
    _, low, high = signed_rank_interval(np.array([0.0, 1, 2, 3, 4, 5]))
    assert (low, high) == (0, 5)


def test_no_rounds_is_an_error():
    with pytest.raises(ValueError, match="no rounds"):
        paired_ratio([], [])


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=30), st.floats(-2, 2))
def test_the_interval_moves_with_the_values(values, shift):
    centre, low, high = signed_rank_interval(np.array(values))
    assert low <= centre <= high
    moved = signed_rank_interval(np.array(values) + shift)
    assert moved == pytest.approx((centre + shift, low + shift, high + shift))


def coverage(interval, rounds: int, trials: int = 600) -> float:
    """How often an interval of heavy-tailed paired noise holds the true value, 0."""
    rng = np.random.default_rng(0)
    noise = rng.standard_t(3, size=(trials, rounds))
    hits = [low <= 0 <= high for low, high in map(interval, noise)]
    return float(np.mean(hits))


@pytest.mark.parametrize("rounds", [6, 8, 12, 25])
def test_the_interval_covers_at_least_as_often_as_it_says(rounds):
    assert coverage(lambda v: signed_rank_interval(v)[1:], rounds) >= 0.93


def test_a_percentile_bootstrap_of_six_rounds_would_not():
    rng = np.random.default_rng(1)

    def bootstrap(values):
        picks = rng.choice(values, size=(400, len(values)))
        return np.quantile(np.median(picks, axis=1), [0.025, 0.975])

    ours = coverage(lambda v: signed_rank_interval(v)[1:], 6)
    theirs = coverage(bootstrap, 6)
    print(f"coverage with 6 rounds: signed rank {ours:.1%}, bootstrap {theirs:.1%}")
    assert theirs < ours

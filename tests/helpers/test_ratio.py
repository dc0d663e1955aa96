"""The ratio of two steps: right, covered, robust."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.ratio import PLACEMENT, paired_ratio, signed_rank_interval


def rounds_of(values):
    return [[value] for value in values]


def test_twice_as_fast_is_two():
    base = rounds_of([2.0, 2.2, 1.8, 2.1, 1.9, 2.0, 2.05])
    fast = rounds_of([v[0] / 2 for v in base])
    ratio = paired_ratio(fast, base)
    assert ratio.value == pytest.approx(2)
    assert ratio.low == pytest.approx(2 * (1 - PLACEMENT))
    assert ratio.differs


def test_noise_that_moves_both_cancels():
    weather = [1.0, 5.0, 1.2, 3.0, 0.9, 2.0, 1.1, 4.0]
    ratio = paired_ratio(rounds_of(weather), rounds_of([w * 1.1 for w in weather]))
    assert ratio.value == pytest.approx(1.1)
    assert ratio.high - ratio.low == pytest.approx(2 * PLACEMENT * 1.1)


def test_a_difference_as_small_as_that_of_two_equal_processes_is_none():
    base = rounds_of([1.0] * 12)
    assert not paired_ratio(rounds_of([0.98] * 12), base).differs
    assert paired_ratio(rounds_of([0.95] * 12), base).differs


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

"""Measuring one function."""

import time

import numpy as np
import pytest

from helpers.measure import Measurement, measure, median_interval
from helpers.sampling import SAMPLES, warm_up


def of(samples, load=0.0):
    return Measurement("m", tuple(samples), load=load)


def test_every_sample_is_kept_and_warm_ups_are_apart():
    m = measure(lambda: time.sleep(0.002), budget=0.1)
    assert len(m.samples) >= SAMPLES[0]
    assert len(m.warm_ups) >= 3
    assert m.median >= 0.002


def test_a_slow_function_still_gets_ten_samples():
    calls = []
    m = measure(lambda: calls.append(time.sleep(0.01)), budget=0.001)
    assert len(m.samples) == SAMPLES[0]
    assert len(calls) == len(m.samples) + len(m.warm_ups)


def test_sync_runs_inside_the_timed_region():
    m = measure(lambda: None, budget=0.01, sync=lambda: time.sleep(0.003))
    assert m.median >= 0.003


def test_warm_up_goes_on_until_calls_agree():
    durations = iter([0.05, 0.03, 0.012, 0.004, 0.004, 0.004] + [0.004] * 60)
    times = warm_up(lambda: time.sleep(next(durations)), limit=30)
    assert len(times) >= 5
    assert times[0] > times[-1]


def test_warm_up_stops_at_its_limit():
    durations = iter([0.001, 0.02] * 100)
    assert len(warm_up(lambda: time.sleep(next(durations)), limit=0.1)) < 50


def test_statistics_are_those_of_the_samples():
    m = of([1.0, 2.0, 3.0, 4.0, 100.0])
    assert m.median == 3
    assert m.mad == 1
    assert m.throughput(6) == 2


def test_the_interval_holds_the_median_and_is_repeatable():
    samples = np.random.default_rng(0).lognormal(size=60)
    low, high = median_interval(samples)
    assert low <= np.median(samples) <= high
    assert (low, high) == median_interval(samples)


def test_the_interval_of_equal_samples_is_the_sample():
    assert median_interval([0.5] * 12) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("measurement", "words"),
    [
        (of([1e-6] * 20), "larger piece of work"),
        (of([0.1] * 4), "only 4 samples"),
        (of([0.1, 0.2, 0.3] * 8), "spread"),
        (of([0.1] * 10 + [0.2] * 10), "second half"),
        (of([0.1] * 20, load=99.0), "load average"),
    ],
)
def test_a_poor_measurement_says_why(measurement, words):
    assert any(words in warning for warning in measurement.warnings)
    assert words in str(measurement)


def test_a_good_measurement_has_no_warnings():
    assert of([0.1, 0.1001, 0.0999] * 7).warnings == []

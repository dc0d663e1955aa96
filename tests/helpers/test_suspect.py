"""A time that does not grow with the work is refused; an honest one passes."""

import time

import numpy as np
import pytest

from helpers import suspect
from helpers.measure import Measurement


def of(seconds):
    return Measurement("m", (seconds,) * 10)


class Lazily:
    """A stand-in for a lazy device: calls record work, `wait` does all of it."""

    def __init__(self):
        self.recorded = []

    def make(self, size):
        return lambda: self.recorded.append(size)

    def wait(self):
        for size in self.recorded:
            time.sleep(size * 1e-4)
        self.recorded.clear()


def test_a_lazy_function_that_nobody_waits_for_is_refused():
    lazily = Lazily()
    with pytest.raises(suspect.Unsynchronised, match="before the device had finished"):
        suspect.measure_scaled(
            lazily.make, 8, budget=0.05, sync=lambda: time.sleep(0.002)
        )


def test_the_same_function_waited_for_is_measured():
    lazily = Lazily()
    small, large = suspect.measure_scaled(lazily.make, 4, budget=0.05, sync=lazily.wait)
    assert large.median > 3 * small.median


def test_an_honest_function_passes():
    def make(size):
        values = np.ones(size * 20_000)
        return lambda: np.sin(values)

    small, large = suspect.measure_scaled(make, 2, budget=0.05)
    assert suspect.reason(small, large) == ""


@pytest.mark.parametrize(
    ("growth", "refused"),
    [(0.5, True), (1.0, True), (1.8, True), (3, False), (16, False)],
)
def test_the_line_is_between_flat_and_growing(growth, refused):
    assert bool(suspect.reason(of(1e-3), of(growth * 1e-3))) is refused


def test_the_reason_says_both_causes():
    text = suspect.reason(of(1e-3), of(1.1e-3))
    assert "16 times the work took 1.10 times" in text
    assert "too small" in text

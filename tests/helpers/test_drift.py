"""Distance from the fp32 reference."""

import math

import numpy as np
import pytest

from helpers.drift import drift

REF = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])


def test_equal_outputs_are_infinitely_close():
    assert drift(REF, REF).sqnr_db == math.inf
    assert drift(REF, REF).top1 == 1


def test_a_tenth_of_noise_amplitude_is_twenty_decibels():
    assert drift(REF * 1.1, REF).sqnr_db == pytest.approx(20)


def test_top1_counts_images_with_the_same_class():
    out = REF.copy()
    out[1] = out[1][::-1]
    assert drift(out, REF).top1 == 0.5


def test_nan_is_infinitely_far():
    out = REF.copy()
    out[0, 0] = np.nan
    assert drift(out, REF).sqnr_db == -math.inf


def test_another_shape_is_an_error():
    with pytest.raises(ValueError, match="whole batch"):
        drift(REF[:1], REF)

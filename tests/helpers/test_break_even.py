"""When a set-up has paid for itself."""

import math

import pytest

from helpers.plots import Cost, break_even, paid_after

EAGER = Cost("eager", setup=1.0, per_image=0.1)
COMPILED = Cost("compiled", setup=61.0, per_image=0.07)
SLOWER = Cost("slower", setup=61.0, per_image=0.1)
FREE = Cost("free", setup=1.0, per_image=0.05)


def test_sixty_seconds_are_paid_back_by_thirty_milliseconds_an_image():
    assert paid_after(COMPILED, EAGER) == pytest.approx(2000)
    at = paid_after(COMPILED, EAGER)
    assert COMPILED.seconds(at) == pytest.approx(EAGER.seconds(at))


def test_what_is_not_faster_never_pays():
    assert paid_after(SLOWER, EAGER) == math.inf


def test_what_costs_no_more_to_set_up_has_paid_at_once():
    assert paid_after(FREE, EAGER) == 0
    slow_but_ready = Cost("slow but ready", setup=0.0, per_image=0.2)
    assert paid_after(slow_but_ready, EAGER) == math.inf


def test_the_plot_marks_the_crossings_and_says_them():
    chart = break_even([EAGER, COMPILED, SLOWER, FREE])
    axes = chart.figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["2,000"]
    assert "compiled after 2,000 images; slower never; free after 0" in chart.alt

"""Windows: what counts, what counts in part, and that nothing else does."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.window import Window, fill

TWO = Window(
    1.0,
    (
        ((0.0, 0.4), (0.4, 0.8), (0.8, 1.2), (1.2, 1.6)),
        ((0.1, 1.0), (1.0, 1.5)),
    ),
)


def test_calls_that_ended_inside_count_whole():
    assert TWO.finished == 3


def test_the_call_that_the_window_cuts_counts_by_its_share():
    assert TWO.done == pytest.approx(3.5)
    assert TWO.seconds_a_call == pytest.approx(1 / 3.5)


def test_what_was_done_after_the_window_does_not_count():
    cut = Window(1.0, tuple(calls[:-1] for calls in TWO.calls))
    assert (cut.done, cut.finished) == (TWO.done, TWO.finished)


def test_latencies_are_of_all_calls_that_began_inside():
    assert TWO.latencies == pytest.approx([0.4, 0.4, 0.4, 0.9])


def test_a_process_that_starts_late_lowers_the_throughput():
    assert TWO.late == pytest.approx(0.1)
    slept = Window(1.0, (TWO.calls[0], ((1.3, 1.4),)))
    assert slept.done == pytest.approx(2.5)


def test_a_window_that_nobody_worked_in_has_nothing_done():
    assert Window(1.0, (((2.0, 2.0),), ((1.0, 2.0),))).done == 0


@given(
    st.lists(st.floats(0.01, 0.5), min_size=1, max_size=4),
    st.floats(0.6, 3),
)
def test_processes_of_constant_speed_are_counted_exactly(seconds_a_call, length):
    """Whatever the phase in which the window closes, done is the sum of the rates."""
    calls = []
    for seconds in seconds_a_call:
        ends = [n * seconds for n in range(int(length / seconds) + 3)]
        calls.append(tuple(itertools.pairwise(ends)))
    window = Window(length, tuple(calls))
    assert window.done == pytest.approx(sum(length / s for s in seconds_a_call))
    assert window.done - len(calls) <= window.finished <= window.done + 1e-6


def test_filling_starts_at_the_opening_and_ends_after_the_longest_call():
    lengths = itertools.chain([0.02, 0.05], itertools.repeat(0.01))
    opens = time.monotonic() + 0.05
    calls = fill(lambda: time.sleep(next(lengths)), opens=opens, seconds=0.1)
    assert calls[0][0] >= 0
    assert calls[-1][1] >= 0.1 + 0.05
    assert calls[-2][1] < 0.1 + max(stop - start for start, stop in calls)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(calls))


def test_a_window_that_is_over_before_the_process_wakes_gets_one_call():
    calls = fill(lambda: None, opens=time.monotonic() - 10, seconds=1)
    assert len(calls) == 1
    assert Window(1, (tuple(calls),)).done == 0

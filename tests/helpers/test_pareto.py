"""The Pareto plot: who is on the frontier, and what the reader is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.plots import Trade, frontier, pareto
from helpers.plots.style import UNPROVEN

SMALL = Trade("batch 1", 0.1, 10.0)
LARGE = Trade("batch 8", 0.5, 16.0)
WORSE = Trade("slow", 0.6, 12.0)
FALSE = Trade("not in effect", 0.05, 20.0, proven=False)


def test_what_is_beaten_in_both_is_not_on_the_frontier():
    assert frontier([WORSE, LARGE, SMALL]) == [SMALL, LARGE]


def test_of_two_equal_latencies_the_faster_stays():
    slower = Trade("slower", 0.1, 9.0)
    assert frontier([slower, SMALL]) == [SMALL]


seconds = st.floats(1e-3, 10)


@given(st.lists(st.tuples(seconds, seconds), min_size=1, max_size=30))
def test_nobody_beats_the_frontier_and_it_beats_everybody_else(points):
    trades = [Trade(str(i), a, b) for i, (a, b) in enumerate(points)]
    edge = frontier(trades)
    for trade in trades:
        matched = [
            e
            for e in edge
            if e.latency <= trade.latency and e.throughput >= trade.throughput
        ]
        assert matched
        if trade in edge:
            assert matched == [trade]


def test_an_unproven_step_is_drawn_red_and_is_not_on_the_frontier():
    chart = pareto([SMALL, LARGE, WORSE, FALSE])
    axes = chart.figure.axes[0]
    assert [line.get_color() for line in axes.lines].count(UNPROVEN) == 1
    assert {text.get_text() for text in axes.texts} == {"batch 1", "batch 8"}
    assert "Unproven and therefore not on it: not in effect" in chart.alt


def test_the_alt_text_has_the_numbers():
    chart = pareto([SMALL, LARGE])
    assert "batch 8 500 ms and 16.0 images/s" in chart.alt


def test_nothing_to_plot_is_said():
    with pytest.raises(ValueError, match="no step has a result"):
        pareto([])

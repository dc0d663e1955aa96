"""The GpSimd estimate: AWS's published rates, and a range that keeps its order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronsim.gpsimd import cost, limits
from neuronsim.gpsimd.findings import Counters

IDLE = Counters(0, 0, 0, 0, 0, 0, 0)


def test_the_published_rates_give_the_published_iterations_again():
    rates, example = cost.published_rates(), limits.AWS_RELU
    moves = 2 * example.elements
    assert 1 / (rates.rest + moves * rates.moved_element) == pytest.approx(example.tcm)
    eight = rates.rest + moves * rates.moved_element / 8
    assert 1 / eight == pytest.approx(example.multicore)
    by_element = rates.rest + moves * rates.element_access
    assert 1 / by_element == pytest.approx(example.element_accessor)


def test_an_element_costs_what_the_example_says():
    rates = cost.published_rates()  # facts: 4.8 ns and 610 ns, in and out together
    assert 2 * rates.moved_element == pytest.approx(4.8e-9, rel=0.01)
    assert 2 * rates.element_access == pytest.approx(610e-9, rel=0.01)


def test_giou_of_the_article_takes_longer_than_the_article_prints():
    boxes = 1024 * 256 // 8
    core = replace(IDLE, bytes_in=boxes * 32, bytes_out=boxes * 4)
    seconds = cost.estimate([core] * 8, operations=40 * 8 * boxes)
    assert seconds.compute[0] == pytest.approx(58.5e-6, rel=0.01)
    assert seconds.slow > 10 * 0.061e-3


def test_the_core_that_moves_most_decides():
    busy = replace(IDLE, bytes_in=64_000)
    assert cost.estimate([IDLE, busy], 0) == cost.estimate([busy, busy], 0)


@given(
    st.builds(Counters, *(st.integers(0, 10**9) for _ in range(7))),
    st.floats(0, 1e12),
)
def test_the_fast_end_is_never_above_the_slow_end(core, operations):
    seconds = cost.estimate([core], operations)
    assert 0 <= seconds.fast <= seconds.slow

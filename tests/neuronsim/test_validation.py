import pytest

from neuronsim import language as nl
from neuronsim import nki, validation
from neuronsim.timeline import profile
from neuronsim.validation import HEADLINES, SCALING, Case, Comparison


def comparison(fast, slow, published):
    return Comparison(Case(1, 256, 512, published), fast, slow, False, None)


def test_error_and_factor_are_those_of_the_middle():
    short = comparison(0.4, 0.6, published=1.0)
    assert short.predicted == 0.5
    assert short.error == pytest.approx(-0.5)
    assert short.factor == pytest.approx(2)
    assert comparison(2, 2, published=1.0).factor == pytest.approx(2)


def test_the_five_times_of_the_issue_are_there():
    times = {round(case.published * 1e3, 5) for case in HEADLINES}
    assert times == {0.17293, 2.34, 1.61, 53.33, 27.8}


def test_no_run_is_counted_twice():
    keys = [(c.version, c.channels, c.length) for c in (*HEADLINES, *SCALING)]
    assert len(keys) == len(set(keys)) == 19


def test_inputs_have_the_published_shapes():
    delta, u, a, b, c = validation.inputs(256, 512)
    assert delta.shape == u.shape == (256, 512)
    assert a.shape == (256, 16)
    assert b.shape == c.shape == (16, 512)
    assert a.max() <= 0


@nki.jit
def many_exponentials(delta, u, a, b, c):
    """A kernel whose time is a line in the number of 128-row tiles."""
    out = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(delta.shape[0] // 128):
        rows = nl.ds(128 * t, 128)
        tile = nl.load(delta[rows, :])
        for _ in range(20):  # more work than traffic, as in the scans
            tile = nl.exp(tile)
        nl.store(out[rows, :], tile)
    return out


def test_a_long_run_is_the_line_through_two_short_ones():
    whole = profile(many_exponentials, *validation.inputs(128 * 8, 2048))
    compared = validation.compare(Case(2, 128 * 8, 2048, 1.0), many_exponentials)
    assert compared.slow == pytest.approx(whole.slow.total, rel=0.01)
    assert not compared.spills

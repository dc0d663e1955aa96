import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import check

RIGHT = [
    (128, 128),
    (2.5, 2.5),
    ("Vector", "Vector"),
    (True, True),
    ([1, 2, 3], (1, 2, 3)),
    (np.arange(4), np.arange(4)),
    (["Vector", "Scalar"], ["Vector", "Scalar"]),
    (lambda: 7, 7),
]
WRONG = [
    (129, 128, "129 is not it: too large"),
    (127, 128, "127 is not it: too small"),
    ("Scalar", "Vector", "'Scalar' is not it"),
    ("128", 128, "not a number"),
    ([1, 2], [1, 2, 3], r"shape \(2,\) was given, \(3,\) was asked"),
    ([1, 9, 3], [1, 2, 3], "1 of 3 values are wrong, first at index 1"),
    (float("nan"), 1.0, "nan is not it"),
    (["Scalar"], ["Vector"], "1 of 1 values are wrong"),
    (lambda: 1 / 0, 1, "ZeroDivisionError: division by zero"),
]
UNTOUCHED = [..., None, [1, ...], (None,), lambda: ..., lambda: ... + 1]


@pytest.mark.parametrize(("answer", "expected"), RIGHT)
def test_a_right_answer_passes(answer, expected):
    verdict = check.equal(answer, expected)
    assert verdict.passed
    assert repr(verdict) == "✓ correct"


@pytest.mark.parametrize(("answer", "expected", "reason"), WRONG)
def test_a_wrong_answer_says_what_is_wrong(answer, expected, reason):
    verdict = check.equal(answer, expected)
    assert not verdict.passed
    assert repr(verdict).startswith("✗ ")
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(repr(verdict))


@pytest.mark.parametrize("answer", UNTOUCHED)
def test_an_untouched_answer_is_not_answered_yet(answer):
    for verdict in (
        check.equal(answer, 1),
        check.close(answer, 1.0),
        check.that(answer, "no"),
    ):
        assert repr(verdict) == "✗ not answered yet"


def test_a_wrong_answer_does_not_tell_the_right_one():
    assert "31415" not in repr(check.equal(7, 31415))
    assert "31415" not in repr(check.close([7.0], [31415.0], why_not="count again"))


def test_close_accepts_a_tolerance():
    assert check.close(1.001, 1.0, rtol=0.01)
    assert not check.close(1.1, 1.0, rtol=0.01)
    assert check.close([0.0, np.nan], [1e-9, np.nan])


def test_close_reads_tensors_of_any_dtype():
    torch = pytest.importorskip("torch")
    x = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert check.close(x, np.ones((2, 3)))
    verdict = check.close(x, 2 * np.ones((2, 3)))
    assert "6 of 6 values are wrong" in repr(verdict)
    assert "largest difference 1" in repr(verdict)


def test_the_explanation_follows_the_verdict():
    right = check.equal(4, 4, why="four transfers of 2 MiB", why_not="count the DMAs")
    wrong = check.equal(5, 4, why="four transfers of 2 MiB", why_not="count the DMAs")
    assert repr(right) == "✓ four transfers of 2 MiB"
    assert repr(wrong).endswith("count the DMAs")


def test_that_gives_its_reasons():
    limit = "SBUF has 128 partitions"
    assert repr(check.that(64 <= 128, limit, "64 fit")) == "✓ 64 fit"
    assert repr(check.that(129 <= 128, limit)) == f"✗ {limit}"
    assert repr(check.that(np.bool_(False), limit)) == f"✗ {limit}"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    )
)
def test_no_answer_makes_a_check_raise(answer):
    for expected in (1, 2.5, "x", [1, 2], {"a": 1}, None, np.ones((2, 2))):
        assert isinstance(repr(check.equal(answer, expected)), str)
        assert isinstance(repr(check.close(answer, 1.0)), str)


def test_lists_of_different_lengths_are_compared():
    right = [[4, 4], [3, 2, 2], [1, 1]]
    assert check.equal([(4, 4), (3, 2, 2), (1, 1)], right).passed
    assert not check.equal([[4, 4], [3, 3, 1], [1, 1]], right).passed
    assert not check.equal([[4, 4], [7], [1, 1]], [[4, 4], [3, 4], [1, 1]]).passed
    assert not check.equal([1, [2]], [1, 2]).passed

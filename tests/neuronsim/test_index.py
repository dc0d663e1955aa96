"""Index expressions and masks select what NumPy's integer arrays select."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from neuronsim import RuleError, nki
from neuronsim import language as nl
from neuronsim.index import Affine, Mask, Pattern, arange, ds, mgrid

FEW = settings(max_examples=60, deadline=None)
small = st.integers(-6, 6)


@st.composite
def affine_pairs(draw):
    """An index expression and the same computed with NumPy."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    factors = draw(st.tuples(small, small, small))
    a, b, c = factors
    ours = arange(rows)[:, None] * a + b * arange(columns)[None, :] - c
    numpy = np.arange(rows)[:, None] * a + b * np.arange(columns)[None, :] - c
    return ours, numpy


@FEW
@given(affine_pairs())
def test_an_affine_expression_evaluates_like_numpy(pair):
    ours, numpy = pair
    assert isinstance(ours, Affine)
    np.testing.assert_array_equal(ours.array(), numpy)
    assert ours.bounds() == (numpy.min(), numpy.max())


@FEW
@given(affine_pairs(), affine_pairs(), small)
def test_masks_compare_and_combine_like_numpy(first, second, bound):
    (ours, numpy), (other, values) = first, second
    for mask, truth in [
        (ours < bound, numpy < bound),
        (ours <= bound, numpy <= bound),
        (ours > bound, numpy > bound),
        (bound <= ours, bound <= numpy),
        (ours == bound, numpy == bound),
        (ours != bound, numpy != bound),
        (~(ours < bound), ~(numpy < bound)),
        ((ours < bound) | (ours > 3), (numpy < bound) | (numpy > 3)),
    ]:
        np.testing.assert_array_equal(mask.array(numpy.shape), truth)
    if numpy.shape == values.shape:
        both = (ours < bound) & (other >= 0) & (ours != 2)
        truth = (numpy < bound) & (values >= 0) & (numpy != 2)
        np.testing.assert_array_equal(both.array(numpy.shape), truth)


@FEW
@given(affine_pairs(), st.integers(-20, 20))
def test_a_mask_over_one_axis_is_a_rectangle_that_holds_what_is_true(pair, bound):
    ours, numpy = pair
    region = (ours < bound).region(numpy.shape)
    truth = np.zeros(numpy.shape, dtype=bool)
    truth[region] = True
    np.testing.assert_array_equal(truth, numpy < bound)


@FEW
@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 3)),
)
def test_an_affine_subscript_is_a_view_of_the_same_elements(rows, columns, factors):
    start, step, diagonal = factors
    array = np.arange(32 * 64).reshape(32, 64)
    i_p, i_f = arange(rows)[:, None], arange(columns)[None, :]
    j_p, j_f = np.arange(rows)[:, None], np.arange(columns)[None, :]
    view = Pattern(array, (i_p + start, step * i_f + diagonal * i_p)).view()
    expected = array[j_p + start, step * j_f + diagonal * j_p]
    assert view is not None
    assert np.shares_memory(view, array)
    np.testing.assert_array_equal(view, expected)


@pytest.mark.parametrize(
    ("make", "numpy"),
    [
        (lambda f: f // 2, lambda f: f // 2),
        (lambda f: f % 3, lambda f: f % 3),
        (lambda f: (f // 2) * 4 + 1, lambda f: (f // 2) * 4 + 1),
        (lambda f: f * f, lambda f: f * f),
    ],
)
def test_what_is_not_affine_is_gathered(make, numpy):
    array = np.arange(4 * 64, dtype=np.float32).reshape(4, 64)

    @nki.jit
    def kernel(source):
        tile = nl.load(source)
        taken = tile[nl.arange(4)[:, None], make(nl.arange(6)[None, :])]
        out = nl.ndarray((4, 6), dtype=source.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.copy(taken))
        return out

    expected = array[np.arange(4)[:, None], numpy(np.arange(6)[None, :])]
    np.testing.assert_array_equal(nki.simulate_kernel(kernel, array), expected)


def test_mgrid_unpacks_and_names_its_axes():
    grid = mgrid[0:3, 2:6]
    expected = np.mgrid[0:3, 2:6]
    for ours, numpy in zip(grid, expected, strict=True):
        np.testing.assert_array_equal(ours.array(), numpy)
    np.testing.assert_array_equal(grid.p.array(), expected[0])
    np.testing.assert_array_equal(grid.x.array(), expected[1])
    with pytest.raises(AttributeError, match="2 axes"):
        _ = grid.y


def test_arange_takes_a_start_and_ds_a_size():
    np.testing.assert_array_equal(arange(3, 7).array(), [3, 4, 5, 6])
    assert ds(4, 3) == slice(4, 7)


def test_a_mask_is_no_condition():
    with pytest.raises(RuleError, match="condition"):
        bool(Mask((arange(3),)))

"""Every elementwise function, operator and reduction computes what NumPy computes."""

import contextlib

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import special
from tiles import on_tiles

from neuronsim import RuleError, nki, record
from neuronsim import language as nl
from neuronsim.operations import OPERATIONS

FEW = settings(max_examples=10, deadline=None)
shapes = st.tuples(st.integers(1, 128), st.integers(1, 9))
seeds = st.integers(0, 2**16)
FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]

_GELU_TANH = np.sqrt(2 / np.pi)
UNARY = {
    "abs": np.abs,
    "negative": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "reciprocal": np.reciprocal,
    "copy": np.positive,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "arctan": np.arctan,
    "square": np.square,
    "sign": np.sign,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + special.erf(x / np.sqrt(2))),
    "gelu_dx": lambda x: (
        0.5 * (1 + special.erf(x / np.sqrt(2)))
        + x * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    ),
    "gelu_apprx_tanh": lambda x: (
        0.5 * x * (1 + np.tanh(_GELU_TANH * (x + 0.044715 * x**3)))
    ),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "silu_dx": lambda x: (1 + np.exp(-x) + x * np.exp(-x)) / (1 + np.exp(-x)) ** 2,
    "erf": special.erf,
    "erf_dx": lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "log": lambda x: np.log(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)),
}
POSITIVE = {"log", "sqrt", "rsqrt"}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmod": np.fmod,
    "mod": np.mod,
}
COMPARE = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}


def test_every_operation_is_in_a_table_of_this_file():
    tested = {*UNARY, *BINARY, *COMPARE, *BITS, "power", "invert", "logical_not"}
    assert set(OPERATIONS) <= tested


def tolerance(dtype):
    """A few units in the last place of the stored type."""
    return 8 * float(ml_dtypes.finfo(dtype).eps)


def values(seed, shape, dtype):
    """Numbers of both signs, none near 0 (quotients stay finite in every dtype)."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.1, 8, shape) * rng.choice([-1, 1], shape)).astype(dtype)


def assert_near(result, expected, dtype):
    scale = np.maximum(1, np.abs(expected))
    off = np.abs(result.astype(np.float64) - expected)
    assert np.all(off <= tolerance(dtype) * scale)


@pytest.mark.parametrize("name", UNARY)
@FEW
@given(seeds, shapes, st.sampled_from(FLOATS))
def test_a_unary_function_is_numpys(name, seed, shape, dtype):
    x = values(seed, shape, dtype)
    x = np.abs(x) if name in POSITIVE else x
    result = on_tiles(getattr(nl, name), x)
    assert result.dtype == dtype
    assert_near(result, UNARY[name](x.astype(np.float64)), dtype)


@pytest.mark.parametrize("name", BINARY)
@FEW
@given(seeds, shapes, st.sampled_from(FLOATS))
def test_a_binary_function_is_numpys_on_tiles_columns_and_numbers(
    name, seed, shape, dtype
):
    x, y = values(seed, shape, dtype), values(seed + 1, shape, dtype)
    column = values(seed + 2, (shape[0], 1), dtype)
    number = column[0, 0]
    function = getattr(nl, name)
    for result, pair in [
        (on_tiles(function, x, y), (x, y)),
        (on_tiles(function, x, column), (x, column)),
        (on_tiles(function, column, x), (column, x)),
        (on_tiles(lambda t: function(t, number), x), (x, number)),
        (on_tiles(lambda t: function(number, t), x), (number, x)),
    ]:
        expected = BINARY[name](*(np.asarray(v).astype(np.float32) for v in pair))
        assert result.dtype == dtype
        assert_near(result, expected, dtype)


@pytest.mark.parametrize("name", COMPARE)
def test_a_comparison_gives_booleans_or_the_asked_dtype(name):
    rng = np.random.default_rng(0)
    x, y = rng.choice(np.array([-1, 0, 2], np.float32), (2, 7, 5))
    function = getattr(nl, name)
    result = on_tiles(function, x, y)
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, COMPARE[name](x, y))
    as_float = on_tiles(lambda a, b: function(a, b, dtype=nl.float32), x, y)
    np.testing.assert_array_equal(as_float, COMPARE[name](x, y).astype(np.float32))


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int16])
def test_bitwise_functions_work_on_the_bits(name, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, (9, 6)).astype(dtype)
    y = rng.integers(0, 5, (9, 6)).astype(dtype)
    result = on_tiles(getattr(nl, name), x, y)
    np.testing.assert_array_equal(result, BITS[name](x, y))


def test_a_right_shift_is_logical():
    x = np.array([[-4, 4]], dtype=np.int32)
    result = on_tiles(lambda t: nl.right_shift(t, 1), x)
    np.testing.assert_array_equal(result.view(np.uint32), x.view(np.uint32) >> 1)


def test_bitwise_functions_refuse_floats():
    with pytest.raises(RuleError, match="bitwise_dtype"):
        on_tiles(nl.bitwise_and, *2 * [np.ones((2, 2), np.float32)])


def test_invert_and_logical_not():
    x = np.array([[0, 1, -5]], dtype=np.int32)
    np.testing.assert_array_equal(on_tiles(nl.invert, x), ~x)
    np.testing.assert_array_equal(on_tiles(nl.logical_not, x), x == 0)


def test_power_is_numpys():
    x = np.random.default_rng(0).uniform(0.1, 3, (8, 6)).astype(np.float32)
    np.testing.assert_allclose(on_tiles(lambda t: nl.power(t, 2.5), x), x**2.5, 1e-5)


def test_where_chooses_between_tiles_and_numbers():
    x = np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)
    result = on_tiles(lambda t: nl.where(t > 0, t, -1.0), x)
    np.testing.assert_array_equal(result, np.where(x > 0, x, -1))
    result = on_tiles(lambda t: nl.where(t > 0, 2.0, t), x)
    np.testing.assert_array_equal(result, np.where(x > 0, 2, x))


OPERATORS = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "1 - x": lambda x, y: 1 - x,
    "2 / y": lambda x, y: 2 / y,
    "-x": lambda x, y: -x,
    "x < y": lambda x, y: x < y,
    "x >= 0": lambda x, y: x >= 0,
    "x == y": lambda x, y: x == y,
    "x != y": lambda x, y: x != y,
}


@pytest.mark.parametrize("text", OPERATORS)
def test_operators_of_tiles_are_numpys(text):
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.5, 2, (12, 5)).astype(np.float32) for _ in range(2))
    result = on_tiles(OPERATORS[text], x, y)
    np.testing.assert_allclose(result, OPERATORS[text](x, y), rtol=3e-7)


def test_in_place_operators_change_the_tile():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)

    def change(tile):
        same = tile
        same += 1
        same *= 2.0
        tile[:, 0:2] = 0
        tile[:, 3:4] -= 5.0
        return tile

    expected = (x + 1) * 2
    expected[:, 0:2] = 0
    expected[:, 3] -= 5
    np.testing.assert_array_equal(on_tiles(change, x), expected)


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
REDUCTIONS |= {"mean": np.mean, "var": np.var, "all": np.all}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [1, [1], [1, 2], 2, -1])
def test_a_reduction_folds_the_last_free_axes(name, axis):
    x = np.random.default_rng(0).uniform(-1, 1, (6, 4, 5)).astype(np.float32)
    x = x[:, :, 0].copy() if axis in (1, [1]) else x
    result = on_tiles(lambda t: getattr(nl, name)(t, axis), x)
    axes = tuple(np.atleast_1d(axis))
    expected = REDUCTIONS[name](x.astype(np.float64), axis=axes)
    np.testing.assert_allclose(result.reshape(expected.shape), expected, atol=1e-5)


def test_pooling_windows_are_a_five_dimensional_access_pattern():
    x = np.random.default_rng(0).normal(size=(5, 6, 8)).astype(np.float32)

    def pool(tile):
        p, rows, i, columns, j = nl.mgrid[:5, 0:3, 0:2, 0:4, 0:2]
        return nl.sum(tile[p, 2 * rows + i, 2 * columns + j], axis=[2, 4]) / 4

    expected = x.reshape(5, 3, 2, 4, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(on_tiles(pool, x), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_copy_between_patterns_transposes_each_row(dtype):
    x = np.arange(5 * 12).reshape(5, 12).astype(dtype)

    def transpose(tile):
        p, i, j = nl.mgrid[:5, :3, :4]
        out = nl.ndarray((5, 12), dtype=tile.dtype)
        out[p, j * 3 + i] = nl.copy(tile[p, i * 4 + j])
        return out

    expected = x.reshape(5, 3, 4).swapaxes(1, 2).reshape(5, 12)
    np.testing.assert_array_equal(on_tiles(transpose, x), expected)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_normalisation_with_masks_runs_as_aws_writes_it(recorded):
    """Masked load, unmasked arithmetic, masked result assigned to the whole tile."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(150, 32)), rng.normal(size=32)

    @nki.jit
    def kernel(a, g):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        ix, iy = nl.arange(128)[:, None], nl.arange(a.shape[1])[None, :]
        scale = nl.load(g.reshape((1, g.shape[0]))[nl.arange(1)[:, None], iy])
        for i in nl.affine_range(2):
            inside = i * 128 + ix < a.shape[0]
            tile = nl.load(a[i * 128 + ix, iy], mask=inside)
            mean = nl.sum(nl.square(tile), axis=[1]) / a.shape[1]
            result = nl.multiply(tile, nl.rsqrt(mean))
            wide = scale.broadcast_to((128, g.shape[0]))
            result[...] = nl.multiply(result, wide, mask=inside)
            nl.store(out[i * 128 + ix, iy], value=result, mask=inside)
        return out

    arrays = x.astype(np.float32), weight.astype(np.float32)
    with record() if recorded else contextlib.nullcontext():
        result = nki.simulate_kernel(kernel, *arrays)
    expected = x / np.sqrt((x**2).mean(1, keepdims=True)) * weight
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_keepdims_keeps_a_dimension_of_one():
    x = np.ones((4, 3), dtype=np.float32)
    assert on_tiles(lambda t: nl.sum(t, 1, keepdims=True), x).shape == (4, 1)


def test_statistics_normalise_a_row():
    x = np.random.default_rng(2).normal(3, 2, (20, 64)).astype(np.float32)

    def normalise(tile):
        centred = tile - nl.mean(tile, axis=[1])
        return centred * nl.rsqrt(nl.var(tile, axis=[1]))

    expected = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    np.testing.assert_allclose(on_tiles(normalise, x), expected, atol=2e-5)


PROMOTIONS = [
    (np.int32, np.float16, np.float16),
    (np.float32, ml_dtypes.bfloat16, np.float32),
    (np.float16, ml_dtypes.bfloat16, np.float32),
    (ml_dtypes.float8_e4m3, np.float16, np.float16),
    (ml_dtypes.float8_e4m3, ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    (ml_dtypes.float8_e4m3, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16),
    (np.int16, np.int32, np.int32),
    (np.uint8, np.uint16, np.uint16),
    (np.int8, np.uint8, np.int16),
    (np.int8, np.uint16, np.int32),
    (np.int32, np.uint32, np.float32),
]


@pytest.mark.parametrize(("first", "second", "expected"), PROMOTIONS)
def test_dtypes_promote_as_aws_documents(first, second, expected):
    x, y = np.ones((2, 3)).astype(first), np.ones((2, 3)).astype(second)
    assert on_tiles(nl.add, x, y).dtype == np.dtype(expected)
    assert on_tiles(nl.add, y, x).dtype == np.dtype(expected)


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        (np.int8, 2, np.int32),
        (np.int8, np.int8(2), np.int8),
        (np.float16, 1.5, np.float32),
        (np.float16, np.float16(1.5), np.float16),
        (np.float32, 0, np.float32),
        (ml_dtypes.bfloat16, 2, ml_dtypes.bfloat16),
    ],
)
def test_python_numbers_are_weakly_typed(dtype, number, expected):
    result = on_tiles(lambda t: t * number, np.ones((2, 2)).astype(dtype))
    assert result.dtype == np.dtype(expected)
    np.testing.assert_array_equal(result.astype(float), float(number))


def test_integers_beyond_24_bits_are_exact_in_tensor_tensor_only():
    x = np.full((2, 2), 2**24 + 1, dtype=np.int32)
    exact = on_tiles(nl.add, x, np.zeros_like(x))
    through_float32 = on_tiles(lambda t: nl.add(t, 0), x)
    assert (exact == 2**24 + 1).all()
    assert (through_float32 == 2**24).all()


def test_casts_to_integers_round_and_saturate():
    x = np.array([[1.5, 2.5, -1.4, 300.0, -300.0, np.nan]], dtype=np.float32)
    result = on_tiles(lambda t: nl.static_cast(t, nl.int8), x)
    np.testing.assert_array_equal(result, [[2, 2, -1, 127, -128, 0]])


@pytest.mark.parametrize("transposed", [True, False])
def test_matmul_and_transpose(transposed):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 32)).astype(np.float32)
    y = rng.normal(size=(64 if transposed else 32, 48)).astype(np.float32)
    result = on_tiles(lambda a, b: nl.matmul(a, b, transpose_x=transposed), x, y)
    np.testing.assert_allclose(result, (x.T if transposed else x) @ y, atol=1e-4)
    np.testing.assert_array_equal(on_tiles(nl.transpose, x), x.T)


def test_broadcast_to_repeats_free_and_partition_dimensions():
    row = np.arange(5, dtype=np.float32)[None, :]
    column = np.arange(6, dtype=np.float32)[:, None]
    both = on_tiles(
        lambda a, b: a.broadcast_to((6, 5)) * b.broadcast_to((6, 5)), row, column
    )
    np.testing.assert_array_equal(both, row * column)


def test_tensors_are_created_filled_and_shaped():
    @nki.jit
    def kernel(source):
        outputs = []
        tile = nl.load(source)
        for made in (
            nl.zeros((4, 6), dtype=nl.float32),
            nl.ones((4, 6), dtype=nl.float32),
            nl.full((4, 6), 7, dtype=nl.float32),
            nl.zeros_like(tile),
            nl.expand_dims(tile, 1).reshape((4, 6)),
            tile.reshape((4, 2, 3)).reshape(4, 6),
        ):
            out = nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.shared_hbm)
            nl.store(out, made)
            outputs.append(out)
        return tuple(outputs)

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    zeros, ones, sevens, like, *same = nki.simulate_kernel(kernel, x)
    for made, value in [(zeros, 0), (ones, 1), (sevens, 7), (like, 0)]:
        np.testing.assert_array_equal(made, np.full((4, 6), value))
    for made in same:
        np.testing.assert_array_equal(made, x)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 300),
    st.integers(1, 20),
    st.sampled_from([1, 3, 8]),
    st.sampled_from(FLOATS),
)
def test_masked_tiles_cover_any_shape(rows, columns, width, dtype):
    x = np.random.default_rng(rows).normal(size=(rows, columns)).astype(dtype)

    @nki.jit
    def kernel(source):
        out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
        for m in nl.affine_range(-(-rows // 128)):
            for n in nl.affine_range(-(-columns // width)):
                i_p = m * 128 + nl.arange(128)[:, None]
                i_f = n * width + nl.arange(width)[None, :]
                mask = (i_p < rows) & (i_f < columns)
                tile = nl.load(source[i_p, i_f], mask=mask)
                nl.store(out[i_p, i_f], nl.square(tile) - tile, mask=mask)
        return out

    wide = x.astype(np.float32)
    expected = (wide**2).astype(dtype).astype(np.float32) - wide
    result = nki.simulate_kernel(kernel, x).astype(np.float32)
    np.testing.assert_array_equal(result, expected.astype(dtype).astype(np.float32))


def test_a_mask_that_is_no_rectangle_keeps_a_triangle():
    x = np.arange(64, dtype=np.float32).reshape(8, 8)

    @nki.jit
    def kernel(source):
        i_p, i_f = nl.arange(8)[:, None], nl.arange(8)[None, :]
        out = nl.zeros((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        triangle = i_p >= i_f
        tile = nl.load(source[i_p, i_f], mask=triangle)
        doubled = nl.add(tile, tile, mask=triangle)
        nl.store(out[i_p, i_f], doubled, mask=triangle)
        return out

    np.testing.assert_array_equal(nki.simulate_kernel(kernel, x), np.tril(2 * x))


def test_device_print_shows_the_tile_and_the_masked_part(capsys):
    def show(tile):
        nl.device_print("whole", tile)
        i_p, i_f = nl.arange(2)[:, None], nl.arange(2)[None, :]
        nl.device_print("left", tile[i_p, i_f], mask=i_f < 1)
        return tile

    on_tiles(show, np.array([[1, 2], [3, 4]], dtype=np.float32))
    assert capsys.readouterr().out == "whole [[1. 2.]\n [3. 4.]]\nleft [[1.]\n [3.]]\n"


def test_a_missing_name_says_what_aws_has_and_what_is_near():
    with pytest.raises(AttributeError, match=r"AWS's .* has it .*not yet.*softplus"):
        _ = nl.softmax
    with pytest.raises(AttributeError, match=r"no such name either.*maximum"):
        _ = nl.maximumm


def test_a_wrong_argument_is_a_type_error():
    for call in (
        lambda t: nl.add(t),
        lambda t: nl.add(t, t, t),
        lambda t: nl.add(t, t, nonsense=1),
        lambda t: nl.add(1, 2),
    ):
        with pytest.raises(TypeError):
            on_tiles(call, np.ones((2, 2), dtype=np.float32))

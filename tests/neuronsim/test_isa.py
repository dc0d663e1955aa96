"""Instructions compute what they say, the same in both generations."""

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from tiles import into_tile, on_tiles

from neuronsim import RuleError, gen2, nki, record
from neuronsim import isa as nisa
from neuronsim import language as nl

nisa2, nl2 = gen2.isa, gen2.language
FEW = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**16)
shapes = st.tuples(st.integers(1, 128), st.integers(1, 9))
OPS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
names = st.sampled_from(sorted(OPS))


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@FEW
@given(seeds, shapes, names)
def test_tensor_tensor(seed, shape, name):
    x, y = draw(seed, *shape), draw(seed + 1, *shape)
    expected = OPS[name](x, y)
    for op in (getattr(nl, name), OPS[name]):
        first = on_tiles(lambda a, b, op=op: nisa.tensor_tensor(a, b, op), x, y)
        np.testing.assert_array_equal(first, expected)
    op = getattr(nl2, name)
    second = into_tile(lambda d, a, b: nisa2.tensor_tensor(d, a, b, op), shape, x, y)
    np.testing.assert_array_equal(second, expected)


@FEW
@given(seeds, shapes, names, names, st.booleans(), st.booleans())
def test_tensor_scalar(seed, shape, first, second, reverse0, reverse1):
    x, column = draw(seed, *shape), draw(seed + 1, shape[0], 1)
    order = lambda op, a, b, swap: op(b, a) if swap else op(a, b)  # noqa: E731
    middle = order(OPS[first], x, np.float32(1.5), reverse0)
    expected = order(OPS[second], middle, column, reverse1)
    options = {"reverse0": reverse0, "reverse1": reverse1}
    ops = {"op0": getattr(nl, first), "op1": getattr(nl, second)}
    arguments = {"operand0": 1.5, **ops, **options}
    one = on_tiles(
        lambda a, c: nisa.tensor_scalar(a, operand1=c, **arguments), x, column
    )
    two = into_tile(
        lambda d, a, c: nisa2.tensor_scalar(d, a, operand1=c, **arguments),
        shape,
        x,
        column,
    )
    np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(two, expected)


@FEW
@given(seeds, shapes, names, names)
def test_scalar_tensor_tensor(seed, shape, first, second):
    x, y = draw(seed, *shape), draw(seed + 1, *shape)
    expected = OPS[second](OPS[first](x, np.float32(0.5)), y)
    call = {
        "op0": getattr(nl, first),
        "operand0": 0.5,
        "op1": getattr(nl, second),
    }
    one = on_tiles(
        lambda a, b: nisa.scalar_tensor_tensor(data=a, operand1=b, **call), x, y
    )
    two = into_tile(
        lambda d, a, b: nisa2.scalar_tensor_tensor(d, data=a, operand1=b, **call),
        shape,
        x,
        y,
    )
    np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(two, expected)


@FEW
@given(seeds, shapes)
def test_activation_scales_shifts_and_reduces(seed, shape):
    x, bias = draw(seed, *shape), draw(seed + 1, shape[0], 1)
    expected = np.tanh(x * np.float32(0.5) + bias)

    def one(a, b):
        return nisa.activation(nl.tanh, a, bias=b, scale=0.5)

    def two(dst, a, b):
        nisa2.activation(dst, nl2.tanh, a, bias=b, scale=0.5)

    np.testing.assert_allclose(on_tiles(one, x, bias), expected, rtol=1e-6)
    np.testing.assert_allclose(into_tile(two, shape, x, bias), expected, rtol=1e-6)

    def summed(dst, a, b):
        scratch = nl2.ndarray(a.shape, dtype=a.dtype)
        nisa2.activation_reduce(scratch, nl2.exp, a, nl2.add, dst, bias=b)

    total = into_tile(summed, (shape[0], 1), x, bias)
    np.testing.assert_allclose(total, np.exp(x + bias).sum(1, keepdims=True), rtol=1e-5)


def test_reduce_commands_accumulate_over_calls():
    x = draw(0, 16, 8)

    def twice(dst, a):
        scratch = nl2.ndarray(a.shape, dtype=a.dtype)
        for command in ("reset_reduce", "reduce"):
            nisa2.activation(
                scratch,
                nl2.square,
                a,
                reduce_op=nl2.add,
                reduce_res=dst,
                reduce_cmd=nisa2.reduce_cmd[command],
            )

    expected = 2 * (x**2).sum(1, keepdims=True)
    np.testing.assert_allclose(into_tile(twice, (16, 1), x), expected, rtol=1e-5)


@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd", "unknown"])
def test_tensor_copy_converts_and_is_exact_except_on_scalar(engine):
    x = np.full((4, 4), 2**24 + 1, dtype=np.int32)
    which = nisa.engine[engine]
    result = on_tiles(lambda a: nisa.tensor_copy(a, engine=which), x)
    assert (result == (2**24 if engine == "scalar" else 2**24 + 1)).all()
    half = on_tiles(lambda a: nisa.tensor_copy(a, dtype=nl.bfloat16), draw(0, 4, 4))
    np.testing.assert_array_equal(half, draw(0, 4, 4).astype(ml_dtypes.bfloat16))


@FEW
@given(seeds, shapes)
def test_reciprocal_and_tensor_reduce(seed, shape):
    x = draw(seed, *shape) + 10
    np.testing.assert_array_equal(on_tiles(nisa.reciprocal, x), 1 / x)
    np.testing.assert_array_equal(into_tile(nisa2.reciprocal, shape, x), 1 / x)
    total = on_tiles(lambda a: nisa.tensor_reduce(np.max, a, axis=1, negate=True), x)
    np.testing.assert_array_equal(total, -x.max(1, keepdims=True))
    second = into_tile(
        lambda d, a: nisa2.tensor_reduce(d, nl2.add, a, axis=1), (shape[0], 1), x
    )
    np.testing.assert_allclose(second, x.sum(1, keepdims=True), rtol=1e-5)


def test_memset_and_iota():
    filled = on_tiles(lambda a: nisa.memset((3, 5), 2.5, nl.float32), draw(0, 3, 5))
    np.testing.assert_array_equal(filled, np.full((3, 5), 2.5))

    def indices(a):
        i_p, i_f = nl.arange(3)[:, None], nl.arange(5)[None, :]
        return nisa.iota(10 * i_p + i_f, dtype=nl.int32)

    expected = 10 * np.arange(3)[:, None] + np.arange(5)
    np.testing.assert_array_equal(on_tiles(indices, draw(0, 3, 5)), expected)
    pattern = into_tile(
        lambda d, a: nisa2.iota(d, [[1, 5]], offset=0, channel_multiplier=10),
        (3, 5),
        draw(0, 3, 5),
        dtype=np.int32,
    )
    np.testing.assert_array_equal(pattern, expected)


def test_tensor_copy_predicated_keeps_the_rest():
    x, y = draw(0, 6, 4), draw(1, 6, 4)
    mask = (x > 0).astype(np.uint8)

    def keep(dst, a, b, m):
        nisa2.tensor_copy(dst, a)
        nisa2.tensor_copy_predicated(dst, b, m)

    result = into_tile(keep, (6, 4), x, y, mask)
    np.testing.assert_array_equal(result, np.where(mask, y, x))


@FEW
@given(seeds, st.integers(1, 128), st.integers(1, 128), st.integers(1, 9))
def test_nc_matmul_and_nc_transpose(seed, contraction, rows, columns):
    x, y = draw(seed, contraction, rows), draw(seed + 1, contraction, columns)
    expected = x.T @ y
    one = on_tiles(nisa.nc_matmul, x, y)
    np.testing.assert_allclose(one, expected, atol=1e-3)
    two = into_tile(nisa2.nc_matmul, (rows, columns), x, y, buffer="psum")
    np.testing.assert_allclose(two, expected, atol=1e-3)
    np.testing.assert_array_equal(on_tiles(nisa.nc_transpose, x), x.T)


@pytest.mark.parametrize(("accumulate", "times"), [(None, 2), (True, 2), (False, 1)])
def test_matmuls_accumulate_in_psum_as_asked(accumulate, times):
    x, y = draw(0, 32, 8), draw(1, 32, 6)

    def both(dst, a, b):
        nisa2.nc_matmul(dst, a, b, accumulate=False if accumulate else accumulate)
        nisa2.nc_matmul(dst, a, b, accumulate=accumulate)

    result = into_tile(both, (8, 6), x, y, buffer="psum")
    np.testing.assert_allclose(result, times * (x.T @ y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("recorded", [True, False])
def test_adding_a_matmul_to_psum_is_no_vector_instruction(recorded):
    x, y = draw(0, 256, 16), draw(1, 256, 24)

    @nki.jit
    def kernel(x, y):
        total = nl.zeros((16, 24), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(2):
            rows = nl.ds(k * 128, 128)
            total += nisa.nc_matmul(nl.load(x[rows, :]), nl.load(y[rows, :]))
        out = nl.ndarray((16, 24), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.copy(total))
        return out

    if recorded:
        with record() as trace:
            result = nki.simulate_kernel(kernel, x, y)
        assert not [step for step in trace if step.operation == "tensor_tensor"]
        matmuls = [step for step in trace if step.operation == "nc_matmul"]
        assert len({step.writes[0].tensor for step in matmuls}) == 1
    else:
        result = nki.simulate_kernel(kernel, x, y)
    np.testing.assert_allclose(result, x.T @ y, atol=1e-3)


def test_dma_copies_between_all_memories_and_converts():
    x = draw(0, 20, 6)

    @gen2.jit
    def kernel(source):
        scratch = nl2.ndarray(source.shape, dtype=source.dtype, buffer=nl2.private_hbm)
        tile = nl2.ndarray(source.shape, dtype=nl2.bfloat16, buffer=nl2.sbuf)
        out = nl2.ndarray(source.shape, dtype=source.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(scratch, source)
        nisa2.dma_copy(dst=tile, src=scratch)
        nisa2.dma_copy(dst=out, src=tile)
        return out

    expected = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(gen2.simulate(kernel)(x), expected)


def test_strided_slices_and_access_patterns_read_and_write():
    x = draw(0, 16, 24)

    def interleave(dst, a):
        nisa2.tensor_copy(dst[:, 1::2], a[:, 0::2])
        nisa2.tensor_copy(dst.ap([[24, 16], [2, 12]], offset=0), a[:, 1::2])

    expected = x.reshape(16, 12, 2)[:, :, ::-1].reshape(16, 24)
    np.testing.assert_array_equal(into_tile(interleave, (16, 24), x), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: nisa.tensor_scalar(a, nl.add, a), "scalar_operand"),
        (lambda a: nisa.tensor_tensor(a, a[:, 0:2], nl.add), "same_shape"),
        (lambda a: nisa.activation(nl.add, a), "engine_operation"),
        (
            lambda a: nisa.tensor_tensor(a, a, nl.add, engine=nisa.scalar_engine),
            "engine_operation",
        ),
    ],
)
def test_an_impossible_instruction_breaks_a_rule(call, message):
    with pytest.raises(RuleError, match=message):
        on_tiles(call, draw(0, 4, 4))


def test_an_unknown_operation_is_a_type_error():
    with pytest.raises(TypeError, match="no operation"):
        on_tiles(lambda a: nisa.tensor_tensor(a, a, np.hypot), draw(0, 4, 4))


def test_generation_2_has_no_division_and_says_what_to_use():
    with pytest.raises(AttributeError, match=r"nl\.reciprocal"):
        _ = nl2.divide
    with pytest.raises(AttributeError, match="use slices"):
        _ = nl2.arange

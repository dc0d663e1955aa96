import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronsim import RuleError, nki, record
from neuronsim import isa as nisa
from neuronsim import language as nl


def scan(a, b, initial=0.0, op0=nl.multiply, op1=nl.add, **named):
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nisa.tensor_tensor_scan(
            nl.load(a), nl.load(b), initial, op0=op0, op1=op1, **named
        )
        nl.store(out, x)
        return out

    return kernel(a, b)


def reference(a, b, initial, step):
    result, state = np.zeros_like(a), np.full(len(a), initial, a.dtype)
    for i in range(a.shape[1]):
        state = step(a[:, i], state, b[:, i])
        result[:, i] = state
    return result


@given(st.integers(1, 128), st.integers(1, 40), st.floats(-2, 2, width=32))
def test_a_scan_is_its_recurrence(partitions, length, initial):
    random = np.random.default_rng(length)
    a, b = random.standard_normal((2, partitions, length)).astype(np.float32)
    expected = reference(a, b, initial, lambda a, x, b: a * x + b)
    np.testing.assert_allclose(scan(a, b, initial), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("named", "step"),
    [
        ({"op0": nl.subtract}, lambda a, x, b: (a - x) + b),
        ({"op0": nl.subtract, "reverse0": True}, lambda a, x, b: (x - a) + b),
        ({"op1": nl.subtract}, lambda a, x, b: a * x - b),
        ({"op1": nl.subtract, "reverse1": True}, lambda a, x, b: b - a * x),
        ({"op0": nl.maximum, "op1": nl.minimum}, lambda a, x, b: np.clip(x, a, None)),
    ],
)
def test_other_operations_and_their_order(named, step):
    random = np.random.default_rng(0)
    a = random.random((4, 9), dtype=np.float32)
    b = np.full_like(a, 2.0) if named["op0" if "op0" in named else "op1"] else a
    expected = reference(a, b, 0.5, step)
    np.testing.assert_allclose(scan(a, b, 0.5, **named), expected, rtol=1e-5)


def test_the_first_state_may_be_a_column():
    ones = np.ones((4, 3), np.float32)

    @nki.jit
    def kernel(start):
        out = nl.ndarray((4, 3), dtype=start.dtype, buffer=nl.shared_hbm)
        tile = nl.load(start)
        one = nl.ones((4, 3), dtype=nl.float32)
        x = nisa.tensor_tensor_scan(one, one, tile, op0=nl.multiply, op1=nl.add)
        nl.store(out, x)
        return out

    start = np.arange(4, dtype=np.float32)[:, None]
    assert np.array_equal(kernel(start), start + np.cumsum(ones, axis=1))


def test_it_is_one_vector_instruction():
    x = np.ones((8, 16), np.float32)
    with record() as trace:
        scan(x, x)
    found = [i for i in trace if i.operation == "tensor_tensor_scan"]
    assert [(i.engine, i.elements, i.alu) for i in found] == [
        ("Vector", 16, ("multiply", "add"))
    ]


def test_different_shapes_are_an_error():
    with pytest.raises(RuleError, match="tensor_tensor_scan"):
        scan(np.ones((8, 16), np.float32), np.ones((8, 15), np.float32))

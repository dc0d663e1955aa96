"""The kernels of notebook 01, loaded from its cells, and what it claims about them."""

import ml_dtypes
import numpy as np
import pytest

from helpers import cells
from neuronsim import isa as nisa
from neuronsim import language as nl
from neuronsim import nki
from neuronsim.hardware import NEURONCORE_V2, NEURONCORE_V3
from neuronsim.timeline import profile

NOTEBOOK = "01_neuroncore_architecture"


@pytest.fixture(scope="module")
def names():
    found = {"np": np, "nki": nki, "nl": nl, "nisa": nisa}
    for tag in cells.tags(NOTEBOOK):
        found |= vars(cells.load(NOTEBOOK, tag, **found))
    return found


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_double_doubles(names, random):
    x = random.standard_normal((128, 300)).astype(np.float32)
    assert np.array_equal(names["double"](x), 2 * x)


def test_softmax_agrees_with_float64(names, random):
    x = random.standard_normal((128, 300)).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    exact /= exact.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(names["softmax"](x), exact, rtol=1e-5)


def test_product_agrees_with_float64(names, random):
    a, b = (random.random((256, n)).astype(ml_dtypes.bfloat16) for n in (128, 1024))
    exact = a.astype(np.float64).T @ b.astype(np.float64)
    np.testing.assert_allclose(names["product"](a, b), exact, rtol=1e-5)


def test_eight_partitions_take_sixteen_times_as_long_as_128(names):
    full, narrow = (
        profile(names["double"], np.ones(shape, np.float32)).fast.busy["Vector"]
        for shape in [(128, 1024), (8, 16 * 1024)]
    )
    assert narrow / full == pytest.approx(16)


@pytest.mark.parametrize(("core", "gains"), [(NEURONCORE_V2, True), (NEURONCORE_V3, 0)])
def test_scalar_overlaps_vector_where_gpsimd_does_not(names, core, gains):
    x = np.ones((128, 4096), np.float32)
    with_gpsimd, with_scalar = (
        profile(names["pair"](engine), x, core=core).fast.total
        for engine in (nisa.gpsimd_engine, nisa.scalar_engine)
    )
    assert (with_gpsimd > 1.1 * with_scalar) == bool(gains)

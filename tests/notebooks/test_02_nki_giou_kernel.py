"""The GIoU kernels, loaded from the cells that teach them, against float64."""

import math
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from helpers import cells
from helpers.neuron import gen2, nki, nl
from neuronsim import RuleError, record

NOTEBOOK = "02_nki_giou_kernel"
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "giou_simulator.py"


def load():
    """Everything the notebook's source cells define, each cell executed once."""
    names = {"np": np, "math": math, "nki": nki, "nl": nl, "gen2": gen2}
    for tag in cells.tags(NOTEBOOK):
        names.update(vars(cells.load(NOTEBOOK, tag, **names)))
    return SimpleNamespace(**names)


book = load()


def output_argument(preds, targets):
    giou = np.empty((preds.shape[0], preds.shape[1] // 4), dtype=preds.dtype)
    nki.simulate_kernel(book.giou_output_argument, preds, targets, giou)
    return giou


KERNELS = {
    "output argument": output_argument,
    "returned": lambda p, t: nki.simulate_kernel(book.giou_kernel, p, t),
    "generation 2": lambda p, t: gen2.nki.simulate(book.giou_gen2)(p, t),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def reference(preds, targets):
    shape = (preds.shape[0], preds.shape[1] // 4, 4)
    return book.giou_reference(preds.reshape(shape), targets.reshape(shape))


def assert_right(kernel, preds, targets):
    result, expected = kernel(preds, targets), reference(preds, targets)
    assert result.shape == expected.shape
    wrong = np.abs(result - expected) > book.TOLERANCE
    assert not wrong.any(), f"{int(wrong.sum())} of {wrong.size} pairs"


@every_kernel
@pytest.mark.parametrize("whole", [False, True], ids=["real", "whole"])
def test_100000_random_pairs_agree_with_float64(kernel, whole):
    preds = book.random_boxes(1, 400, 250, whole=whole)
    targets = book.random_boxes(2, 400, 250, whole=whole)
    assert_right(kernel, preds, targets)


@every_kernel
@settings(max_examples=12, deadline=None)
@given(
    rows=st.integers(1, 270),
    boxes=st.integers(1, 520),
    seed=st.integers(0, 2**16),
    size=st.sampled_from([0.01, 1.0, 256.0, 1e4]),
)
def test_any_number_of_rows_and_boxes_and_any_scale(kernel, rows, boxes, seed, size):
    if rows * boxes > 20_000:
        boxes = max(1, 20_000 // rows)
    preds = book.random_boxes(seed, rows, boxes, size=size)
    targets = book.random_boxes(seed + 1, rows, boxes, size=size)
    assert_right(kernel, preds, targets)


@every_kernel
@pytest.mark.parametrize("shape", [(128, 256), (129, 257), (1, 1), (256, 512)])
def test_tile_borders(kernel, shape):
    assert_right(kernel, book.random_boxes(3, *shape), book.random_boxes(4, *shape))


EXACT = {
    "identical": 1.0,
    "touching edges": 0.0,
    "touching corners": -0.5,
    "disjoint": 2 / 36 - 1,
    "nested": 4 / 64,
    "zero width": 0.0,
    "identical points": 0.0,
    "two points": -1.0,
    "inverted in x": 0.0,
    "both inverted": 0.0,
    "tiny, identical": 1.0,
}


@every_kernel
def test_degenerate_pairs_follow_the_definition(kernel):
    assert set(EXACT) == set(book.DEGENERATE)
    pairs = np.array(list(book.DEGENERATE.values()), dtype=np.float32)
    p, t = (np.ascontiguousarray(side) for side in pairs.swapaxes(0, 1))
    expected = [[EXACT[name]] for name in book.DEGENERATE]
    np.testing.assert_allclose(book.giou_reference(p, t)[:, None], expected, atol=1e-9)
    np.testing.assert_allclose(kernel(p, t), expected, atol=book.TOLERANCE)


@every_kernel
def test_an_inverted_box_is_empty(kernel):
    rng = np.random.default_rng(0)
    targets = book.random_boxes(5, 64, 16)
    preds = book.random_boxes(6, 64, 16).reshape(64, 16, 4)
    flip = rng.integers(0, 2, (64, 16), dtype=bool)
    preds[flip] = preds[flip][:, [2, 1, 0, 3]]
    preds = preds.reshape(64, 64)
    assert_right(kernel, preds, targets)
    inverted = kernel(preds, targets)[flip]
    assert ((inverted >= -1) & (inverted <= 0)).all()


@every_kernel
def test_nan_and_infinity_spoil_their_own_pair_only(kernel):
    preds, targets = book.random_boxes(7, 10, 6), book.random_boxes(8, 10, 6)
    expected = reference(preds, targets)
    preds[3, 5], preds[4, 8] = np.nan, np.inf
    result = kernel(preds, targets)
    spoilt = np.zeros((10, 6), dtype=bool)
    spoilt[3, 1] = spoilt[4, 2] = True
    assert np.isnan(result[3, 1])
    assert np.abs(result - expected)[~spoilt].max() <= book.TOLERANCE


@every_kernel
def test_no_pairs_give_no_result(kernel):
    nothing = np.empty((0, 8), dtype=np.float32)
    assert kernel(nothing, nothing).shape == (0, 2)


@every_kernel
def test_arguments_need_not_be_contiguous(kernel):
    preds, targets = book.random_boxes(9, 60, 8), book.random_boxes(10, 60, 8)
    assert_right(kernel, preds[::2], targets[::2])
    assert_right(kernel, np.asfortranarray(preds), targets)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_a_dtype_the_chip_lacks_is_one_clear_error(kernel, dtype):
    boxes = np.ones((4, 8), dtype=dtype)
    with pytest.raises(RuleError, match=r"argument preds has dtype .*astype"):
        kernel(boxes, boxes)


def test_integer_boxes_give_a_rounded_result_in_their_dtype():
    boxes = np.array([[0, 0, 2, 2]], dtype=np.int32)
    result = nki.simulate_kernel(book.giou_kernel, boxes, boxes)
    assert result.dtype == np.int32
    assert result.tolist() == [[1]]


@pytest.mark.parametrize(
    ("preds", "targets", "words"),
    [
        ((4, 8), (4, 12), "shapes differ"),
        ((4, 6), (4, 6), r"not \(rows, 4 \* boxes\)"),
        ((4,), (4,), r"not \(rows"),
        ((2, 2, 4), (2, 2, 4), r"not \(rows"),
    ],
)
def test_wrong_shapes_are_one_clear_sentence(preds, targets, words):
    arrays = (np.ones(shape, dtype=np.float32) for shape in (preds, targets))
    with pytest.raises(AssertionError, match=words):
        nki.simulate_kernel(book.giou_kernel, *arrays)


def test_wider_tiles_take_fewer_instructions_for_the_same_result():
    preds, targets = book.random_boxes(1, 128, 512), book.random_boxes(2, 128, 512)
    counts, results = {}, {}
    for width in (128, 512):
        with record() as trace:
            results[width] = nki.simulate_kernel(
                book.giou_kernel, preds, targets, width
            )
        counts[width] = sum(step.engine == "Vector" for step in trace)
    assert counts[128] == 4 * counts[512]
    np.testing.assert_array_equal(results[128], results[512])


def test_the_simulator_is_within_six_times_plain_numpy():
    """The fastest of paired ratios: a busy machine only ever makes one larger."""
    benchmark = runpy.run_path(str(BENCHMARK))
    boxes = book.random_boxes(1, 1024, 256), book.random_boxes(2, 1024, 256)
    ratios = [
        benchmark["seconds"](lambda: KERNELS["returned"](*boxes))
        / benchmark["seconds"](lambda: benchmark["plain_numpy"](*boxes))
        for _ in range(7)
    ]
    assert min(ratios) < 6


def test_traces_point_into_the_notebooks_cells():
    with record() as trace:
        KERNELS["returned"](*2 * [book.random_boxes(1, 4, 4)])
    files = {re.sub(r".*/", "", step.source[0]) for step in trace}
    assert files == {"giou_block.py", "giou_tile.py"}

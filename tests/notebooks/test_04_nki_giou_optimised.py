"""The kernels of notebook 04, loaded from its cells: right, faster, and checked."""

import numpy as np
import pytest

from helpers import cells
from neuronsim import isa as nisa
from neuronsim import language as nl
from neuronsim import nki, validation
from neuronsim.timeline import profile

NOTEBOOK = "04_nki_giou_optimised"


@pytest.fixture(scope="module")
def names():
    """What the notebook's source cells define, in their order."""
    found = {"np": np, "nki": nki, "nl": nl, "nisa": nisa, "cells": cells}
    for tag in cells.tags(NOTEBOOK):
        found |= vars(cells.load(NOTEBOOK, tag, **found))
    return found


def boxes(names, seed):
    """128 × 1024 boxes in two layouts, with the degenerate ones of notebook 02."""
    flat = names["names"]["random_boxes"](seed, 128, 1024)
    special = np.array(list(names["names"]["DEGENERATE"].values()), np.float32)
    part = special[:, seed].reshape(-1)
    flat[0, : part.size] = part
    planes = np.ascontiguousarray(flat.reshape(128, 1024, 4).transpose(2, 0, 1))
    return flat, planes


@pytest.fixture(scope="module")
def pairs(names):
    (a, a_planes), (b, b_planes) = boxes(names, 0), boxes(names, 1)
    reference = names["names"]["giou_reference"]
    expected = reference(a.reshape(128, -1, 4), b.reshape(128, -1, 4))
    return {"interleaved": (a, b), "planar": (a_planes, b_planes)}, expected


VERSIONS = [  # from slow to fast; layout, function, boxes a tile
    ("interleaved", "giou_tile", 256),
    ("interleaved", "fused", 512),
    ("interleaved", "on_scalar", 512),
    ("planar", "on_scalar", 512),
    ("planar", "in_psum", 512),
    ("planar", "copied", 512),
]


@pytest.fixture(scope="module")
def predictions(names, pairs):
    return [
        profile(names[layout](names[function], width), *pairs[0][layout])
        for layout, function, width in VERSIONS
    ]


@pytest.mark.parametrize(("layout", "function", "width"), VERSIONS)
def test_a_version_agrees_with_float64(names, pairs, layout, function, width):
    inputs, expected = pairs
    result = names[layout](names[function], width)(*inputs[layout])
    assert np.abs(result - expected).max() < names["names"]["TOLERANCE"]


def test_two_programs_agree_with_float64(names, pairs):
    inputs, expected = pairs
    result = names["halves"](names["copied"], 256)(*inputs["planar"])
    assert np.abs(result - expected).max() < names["names"]["TOLERANCE"]


def test_every_step_is_predicted_faster_than_the_one_before(predictions):
    times = [prediction.middle for prediction in predictions]
    assert times == sorted(times, reverse=True)


def test_the_best_version_is_at_least_one_and_a_half_times_faster(predictions):
    assert predictions[0].fast.total / predictions[-1].fast.total > 1.5
    assert predictions[0].slow.total / predictions[-1].slow.total > 1.5


def test_no_version_beats_its_floors(predictions):
    for prediction in predictions:
        for timeline in (prediction.fast, prediction.slow):
            assert timeline.total >= max(timeline.floors.values())


def test_planes_only_help_where_a_stride_of_16_bytes_costs(predictions):
    strided, planes = predictions[2:4]
    assert strided.slow.busy["Vector"] > 1.3 * planes.slow.busy["Vector"]
    assert strided.fast.busy["Vector"] == pytest.approx(planes.fast.busy["Vector"])


def test_psum_halves_the_price_of_operands_that_meet_there(predictions):
    def cycles(placed):
        pairs = [p for p in placed if p.instruction.operation == "tensor_tensor"]
        return sum(p.busy for p in pairs)

    sbuf, one_in_psum, copied = (cycles(p.fast.cores[0]) for p in predictions[3:6])
    # 22 instructions on two tensors: 2N each; 10 of them, then 20, meet in PSUM
    assert one_in_psum / sbuf == pytest.approx((2 * 22 - 10) / (2 * 22))
    assert copied / sbuf == pytest.approx((2 * 22 - 20) / (2 * 22))


def test_two_cores_are_predicted_nearly_twice_as_fast(names, pairs):
    kernel = names["halves"](names["copied"], 256)
    inputs = pairs[0]["planar"]
    one, two = profile(kernel, *inputs), profile(kernel, *inputs, cores=2)
    assert one.slow.total / two.slow.total > 1.4


# --- the selective scan ---------------------------------------------------------------

SCANS = {1: "scan_by_state", 2: "scan_by_channel", 3: "scan_by_chunk"}


def scan_reference(delta, u, a, b, c):
    delta, u, a, b, c = (x.astype(np.float64) for x in (delta, u, a, b, c))
    result = np.zeros_like(delta)
    for s in range(a.shape[1]):
        state = np.zeros(len(delta))
        for t in range(delta.shape[1]):
            decay = np.exp(delta[:, t] * a[:, s])
            state = decay * state + delta[:, t] * u[:, t] * b[s, t]
            result[:, t] += c[s, t] * state
    return result


@pytest.mark.parametrize("version", SCANS)
def test_a_scan_agrees_with_float64(names, version):
    inputs = validation.inputs(256, 1024, states=2)
    result = names[SCANS[version]](*inputs)
    np.testing.assert_allclose(result, scan_reference(*inputs), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def compared(names):
    return [
        validation.compare(case, names[SCANS[case.version]])
        for case in validation.HEADLINES
    ]


def test_published_times_are_predicted_within_25_percent_in_the_median(compared):
    print(*(f"{c.case}: {c.error:+.1%}" for c in compared), sep="\n")
    assert np.median([abs(c.error) for c in compared]) < 0.25


def test_no_published_time_is_missed_by_a_factor_of_two(compared):
    assert max(c.factor for c in compared) < 2


def test_spilling_is_predicted_where_aws_saw_it_and_nowhere_else(compared):
    spilled = [(c.case.version, c.case.length) for c in compared if c.spills]
    assert spilled == [(2, 8192)]  # "we notice new DMA activity ... spill"


@pytest.mark.parametrize(("version", "length"), [(2, 512), (3, 1024)])
def test_a_third_iteration_lies_on_the_line_of_one_and_two(names, version, length):
    times = [
        profile(names[SCANS[version]], *validation.inputs(128 * n, length)).slow.total
        for n in (1, 2, 3)
    ]
    assert times[2] - times[1] == pytest.approx(times[1] - times[0], rel=0.01)


def test_a_third_state_lies_on_the_line_of_one_and_two(names):
    times = [
        profile(names["scan_by_state"], *validation.inputs(512, 512, n)).slow.total
        for n in (1, 2, 3)
    ]
    assert times[2] - times[1] == pytest.approx(times[1] - times[0], rel=0.01)

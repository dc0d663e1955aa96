"""The instruction stream says what ran where, on which bytes, and from which line."""

import inspect

import numpy as np
import pytest

from neuronsim import gen2, nki, record
from neuronsim import isa as nisa
from neuronsim import language as nl
from neuronsim.trace import ENGINES, active

X = np.ones((256, 32), dtype=np.float32)


@nki.jit
def kernel(source):
    out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(2):
        for _ in nl.sequential_range(3):
            tile = nl.load(source[m * 128 : (m + 1) * 128, :])
            i_p, i_f = nl.arange(128)[:, None], nl.arange(8)[None, :]
            total = tile[i_p, 4 * i_f] + tile[i_p, 4 * i_f + 3]
            root = nl.sqrt(total)
            wide = nl.ndarray((128, 32), dtype=nl.float32)
            wide[:, 0:8] = nl.maximum(root, 0)
            wide[:, 8:32] = 1.0
            nl.store(out[m * 128 : (m + 1) * 128, :], wide)
    return out


@pytest.fixture
def trace():
    with record() as recorded:
        nki.simulate_kernel(kernel, X)
    return recorded


def test_instructions_come_in_program_order_with_engine_and_operation(trace):
    per_iteration = [
        ("DMA", "dma_copy", ()),
        ("Vector", "tensor_tensor", ("add",)),
        ("Scalar", "activation", ("sqrt",)),
        ("Vector", "tensor_scalar", ("maximum",)),
        ("Vector", "memset", ()),
        ("DMA", "dma_copy", ()),
    ]
    assert [(s.engine, s.operation, s.alu) for s in trace] == 6 * per_iteration
    assert [step.index for step in trace] == list(range(36))
    assert {step.engine for step in trace} <= set(ENGINES)


def test_loops_are_numbered_by_their_line_and_nest(trace):
    loops = [step.loops for step in trace[::6]]
    outer, inner = loops[0][0][0], loops[0][1][0]
    assert outer != inner
    assert loops == [
        ((outer, m, "affine"), (inner, k, "sequential"))
        for m in range(2)
        for k in range(3)
    ]


def test_operands_are_strided_access_patterns_without_copies(trace):
    load, add = trace[0], trace[1]
    tile = load.writes[0]
    first, second = add.reads
    assert first.tensor == second.tensor == tile.tensor
    assert (first.shape, first.strides) == ((128, 8), (32, 4))
    assert (first.first, first.last) == (0, 7 * 16 + 4)
    assert (second.first, second.last) == (12, 128)
    assert first.bytes == 128 * 8 * 4
    assert (add.partitions, add.elements) == (128, 8)


def test_transfers_name_the_bytes_of_the_hbm_tensor(trace):
    rows = [(s.reads[0].first, s.reads[0].last) for s in trace[::6]]
    assert rows == 3 * [(0, 128 * 32 * 4)] + 3 * [(128 * 32 * 4, 256 * 32 * 4)]
    assert {step.reads[0].name for step in trace[::6]} == {"source"}
    assert {step.writes[0].name for step in trace[5::6]} == {"out"}


def test_an_assignment_to_a_slice_is_the_instruction_itself(trace):
    maximum, fill, store = trace[3:6]
    wide = store.reads[0]
    assert maximum.writes[0].tensor == fill.writes[0].tensor == wide.tensor
    assert (maximum.writes[0].first, maximum.writes[0].last) == (0, 32)
    assert (fill.writes[0].first, fill.writes[0].last) == (32, 128)
    assert trace.allocations[wide.tensor].shape == (128, 32)
    assert trace.allocations[wide.tensor].name == "wide"


def test_sources_are_lines_of_the_kernel(trace):
    lines, first = inspect.getsourcelines(kernel.function)
    for step, words in zip(trace[:2], ("nl.load", "tile[i_p, 4 * i_f] +"), strict=True):
        file, line = step.source
        assert file == __file__
        assert words in lines[line - first]


def test_a_program_of_a_grid_says_which_it_is():
    @nki.jit
    def spread(source):
        out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
        rows = nl.ds(nl.program_id(0) * 128, 128)
        nl.store(out[rows, :], nl.load(source[rows, :]))
        return out

    with record() as recorded:
        nki.simulate_kernel(spread[2], X)
    assert [step.program for step in recorded] == [(0,), (0,), (1,), (1,)]
    assert recorded[1].writes[0].tensor == recorded[3].writes[0].tensor


def test_a_mask_shrinks_the_instruction():
    @nki.jit
    def masked(source):
        i_p, i_f = nl.arange(128)[:, None], nl.arange(32)[None, :]
        mask = (128 + i_p < 150) & (i_f < 20)
        out = nl.zeros((256, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(source[128 + i_p, i_f], mask=mask)
        nl.store(out[128 + i_p, i_f], nl.exp(tile, mask=mask), mask=mask)
        return out

    with record() as recorded:
        nki.simulate_kernel(masked, X)
    assert {(step.partitions, step.elements) for step in recorded} == {(22, 20)}


def test_start_partition_and_psum_are_told():
    @gen2.jit
    def transpose(source):
        nl2, nisa2 = gen2.language, gen2.isa
        out = nl2.ndarray((32, 64), dtype=nl2.float32, buffer=nl2.shared_hbm)
        tile = nl2.load(source[0:128, :])
        psum = nl2.ndarray((32, 64), dtype=nl2.float32, buffer=nl2.psum)
        nisa2.nc_transpose(psum, tile[64:128, :])
        nl2.store(out, nl2.copy(psum))
        return out

    with record() as recorded:
        gen2.simulate(transpose)(X)
    step = recorded[1]
    assert (step.engine, step.operation) == ("Tensor", "nc_transpose")
    assert step.reads[0].start_partition == 64
    assert step.writes[0].buffer == "psum"


def test_a_broadcast_operand_has_stride_zero():
    @nki.jit
    def repeated(source):
        tile = nl.load(source[0:128, :])
        out = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        column = tile[:, 0:1].broadcast_to((128, 32))
        nl.store(out, nisa.tensor_tensor(tile, column, nl.add))
        return out

    with record() as recorded:
        nki.simulate_kernel(repeated, X)
    assert recorded[1].reads[1].strides == (32, 0)


def test_nothing_is_recorded_unless_asked_and_recordings_nest():
    assert active() is None
    with record() as outer:
        with record() as inner:
            nki.simulate_kernel(kernel, X)
        assert active() is outer
    assert (len(outer), len(inner)) == (0, 36)

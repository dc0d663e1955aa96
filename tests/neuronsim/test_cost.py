"""One golden number for each formula, worked out by hand in the comments."""

import dataclasses

import pytest
from streams import Stream

from neuronsim import cost, dma
from neuronsim.hardware import NEURONCORE_V2, NEURONCORE_V3

FAST, SLOW = cost.readings(NEURONCORE_V2)
N = 1000


def cycles(instruction, core=NEURONCORE_V2, reading=FAST):
    return cost.cost(instruction, core, reading).cycles


def one(engine, operation, *inputs, n=N, out="sbuf", dtype="float32", alu=("add",)):
    """One instruction on 128 partitions; each input is a buffer's name."""
    s = Stream()
    reads = [s.tile(128, n, buffer=buffer, dtype=dtype) for buffer in inputs]
    s.compute(engine, operation, reads, [s.tile(128, n, buffer=out, dtype=dtype)], alu)
    return s[0]


@pytest.mark.parametrize(
    ("operation", "inputs", "dtype", "alu", "expected"),
    [
        # the nki.isa pages of SDK 2.26.1, N = 1000
        ("tensor_tensor", ["sbuf", "sbuf"], "float32", ("add",), 2 * N),
        ("tensor_tensor", ["sbuf", "psum"], "float32", ("add",), N),
        ("tensor_tensor", ["psum", "psum"], "float32", ("add",), 2 * N),
        ("tensor_tensor", ["sbuf", "sbuf"], "bfloat16", ("multiply",), N),
        ("tensor_tensor", ["sbuf", "sbuf"], "bfloat16", ("maximum",), 2 * N),
        (
            "scalar_tensor_tensor",
            ["sbuf", "sbuf"],
            "float32",
            ("maximum", "add"),
            2 * N,
        ),
        (
            "scalar_tensor_tensor",
            ["sbuf", "sbuf"],
            "bfloat16",
            ("subtract", "multiply"),
            N,
        ),
        ("tensor_scalar", ["sbuf"], "float32", ("add",), N),
        ("tensor_scalar", ["sbuf"], "float32", ("add", "maximum"), N),
        ("tensor_copy", ["sbuf"], "float32", (), N),
        ("memset", [], "float32", (), N),
        ("reciprocal", ["sbuf"], "float32", ("reciprocal",), 8 * N),
        ("tensor_tensor_scan", ["sbuf", "sbuf"], "float32", ("multiply", "add"), 2 * N),
        ("tensor_copy_predicated", ["sbuf", "sbuf"], "float32", (), 2 * N),
        ("tensor_copy_predicated", ["sbuf", "psum"], "float32", (), N),
        ("never_heard_of", ["sbuf"], "float32", (), N),
        ("never_heard_of", ["sbuf", "sbuf"], "float32", (), 2 * N),
    ],
)
def test_vector_formulas(operation, inputs, dtype, alu, expected):
    i = one("Vector", operation, *inputs, dtype=dtype, alu=alu)
    assert cycles(i) == expected


def test_scalar_engine_formulas():
    assert cycles(one("Scalar", "activation", "sbuf", alu=("exp",))) == N
    # max(64, 1000) and 64 more to read the accumulator
    assert cycles(one("Scalar", "activation_reduce", "sbuf")) == N + 64


def test_gpsimd_kernels_pay_a_start():
    assert cycles(one("GpSimd", "iota")) == 150 + N


def test_a_reduction_costs_its_input():
    s = Stream()
    s.compute("Vector", "tensor_reduce", [s.tile(128, 4, 250)], [s.tile(128, 4)])
    assert cycles(s[0]) == 1000


def matmul(dtype, moving, stationary=128):
    s = Stream()
    a, b = s.tile(128, stationary, dtype=dtype), s.tile(128, moving, dtype=dtype)
    s.compute("Tensor", "nc_matmul", [a, b], [s.tile(stationary, moving)])
    return s[0]


@pytest.mark.parametrize(
    ("dtype", "moving", "expected"),
    [("bfloat16", 512, 512), ("bfloat16", 8, 64), ("float32", 512, 4 * 512)],
)
def test_matmul_counts_moving_columns(dtype, moving, expected):
    assert cycles(matmul(dtype, moving)) == expected


def test_matmul_at_full_size_reaches_the_documented_peak():
    i = matmul("bfloat16", 512)
    rate = cost.flops(i) / cost.interval(i, NEURONCORE_V2, FAST)
    assert rate == pytest.approx(92e12, rel=0.01)


def test_no_instruction_starts_sooner_than_min_ii_after_the_last():
    i = one("Vector", "tensor_scalar", "sbuf", n=3)
    assert cost.interval(i, NEURONCORE_V2, FAST) == pytest.approx(64 / 1.12e9)


def test_a_dependent_result_is_late_by_one_of_two_documented_latencies():
    i = one("Scalar", "activation", "sbuf", n=1, alu=("copy",))
    # the architecture guide: 100 cycles more; the performance guide: 264 in all
    assert cost.visible(i, NEURONCORE_V2, FAST) == pytest.approx(101 / 1.4e9)
    assert cost.visible(i, NEURONCORE_V2, SLOW) == pytest.approx(264 / 1.4e9)
    assert cost.visible(i, NEURONCORE_V2, SLOW) == pytest.approx(189e-9, rel=0.01)


@pytest.mark.parametrize(
    ("step", "fast", "slow"), [(3, N, N), (4, N, 2 * N), (5, 2 * N, 2 * N)]
)
def test_a_stride_of_exactly_16_bytes_is_read_both_ways(step, fast, slow):
    s = Stream()
    wide = s.view(s.tile(128, N * step), slice(None), slice(None, None, step))
    s.compute("Vector", "tensor_scalar", [wide], [s.tile(128, N)])
    assert cycles(s[0], reading=FAST) == fast
    assert cycles(s[0], reading=SLOW) == slow


@pytest.mark.parametrize(
    ("operation", "inputs", "dtype", "expected"),
    [
        ("tensor_copy", ["sbuf"], "bfloat16", N / 4),
        ("tensor_scalar", ["sbuf"], "float32", N),
        ("tensor_tensor", ["sbuf", "sbuf"], "bfloat16", N),
        ("tensor_tensor", ["sbuf", "sbuf"], "float32", 2 * N),
    ],
)
def test_v3_has_performance_modes_for_16_bit_types(operation, inputs, dtype, expected):
    i = one("Vector", operation, *inputs, dtype=dtype, alu=("maximum",))
    assert cycles(i, NEURONCORE_V3, cost.readings(NEURONCORE_V3)[0]) == expected


def test_flops_count_operators_and_elements():
    assert cost.flops(one("Vector", "tensor_tensor", "sbuf", "sbuf")) == 128 * N
    two = one("Vector", "tensor_scalar", "sbuf", alu=("add", "maximum"))
    assert cost.flops(two) == 2 * 128 * N
    assert cost.flops(one("Vector", "tensor_copy", "sbuf", alu=())) == 0


# --- DMA ------------------------------------------------------------------------------


def load(*shape, at=(), dtype="float32"):
    s = Stream()
    s.load(s.hbm(*shape, dtype=dtype), at=at)
    return s[0]


def test_the_documented_transfer_takes_the_documented_time():
    # 32 KiB in four partitions of 8 KiB, one engine: 1416 ns in AWS's profile, which
    # has one 4-byte semaphore write more than our transfer
    rate = next(a for a in NEURONCORE_V3.dma.rates if a.name == "27.2 GB/s")
    reading = dataclasses.replace(cost.readings(NEURONCORE_V3)[0], dma_rate=rate)
    move = dma.transfer(load(4, 4096, dtype="bfloat16"), NEURONCORE_V3, reading)
    assert list(move.engines) == [0]
    semaphore = dma.piece_seconds(4, NEURONCORE_V3, reading)
    assert move.engines[0] + semaphore == pytest.approx(1416e-9, rel=1e-3)


def test_eight_partitions_share_an_engine():
    assert len(dma.transfer(load(128, 64), NEURONCORE_V2, FAST).engines) == 16
    assert len(dma.transfer(load(9, 64), NEURONCORE_V2, FAST).engines) == 2


def test_a_strided_view_moves_in_single_elements():
    whole = dma.transfer(load(128, 256), NEURONCORE_V2, FAST)
    strided = dma.transfer(
        load(128, 1024, at=(slice(None), slice(None, None, 4))), NEURONCORE_V2, FAST
    )
    assert (whole.piece_bytes, strided.piece_bytes) == (1024, 4)
    assert whole.bytes == strided.bytes
    assert sum(strided.engines.values()) > 10 * sum(whole.engines.values())


def test_efficiency_follows_the_documented_regimes():
    # below 256 B "a small fraction", from 2 KiB "approaches", from 4 KiB "saturates"
    for reading in (FAST, SLOW):
        curve = [dma.efficiency(b, NEURONCORE_V2, reading) for b in (128, 2048, 4096)]
        assert curve[0] < 0.25
        assert curve[1] > 0.6
        assert curve[2] > 0.75
        assert curve == sorted(curve)


def test_two_cores_share_the_devices_memory():
    alone = dma.piece_seconds(1 << 20, NEURONCORE_V2, FAST)
    shared = dma.piece_seconds(1 << 20, NEURONCORE_V2, FAST, sharers=2)
    # 16 x 27 GiB/s = 464 GB/s alone; half of 820 GiB/s = 440 GB/s
    assert shared / alone == pytest.approx(27 / (820 / 32), rel=0.01)

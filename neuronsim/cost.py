"""What one instruction costs its engine, from AWS's published formulas.

N is the number of elements a partition. The formulas are those of the `nki.isa` pages
of Neuron SDK 2.26.1, the last release that prints them; where a page prints none, the
architecture guide's general rule holds: N cycles with one input tensor, 2N with two.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from neuronsim.hardware import Alternative, NeuronCore
from neuronsim.trace import Access, Instruction

_HALF = ("bfloat16", "float16")
_BF16_FAST = {"add", "multiply", "subtract"}
_NO_ARITHMETIC = {
    "activation_read_accumulator",
    "dma_copy",
    "iota",
    "memset",
    "nc_transpose",
    "tensor_copy",
}


@dataclass(frozen=True)
class Reading:
    """One way to read the documents where they contradict each other.

    Attributes
    ----------
    name : "fast" or "slow"
    dma_rate : bytes/s of one DMA engine
    hbm : bytes/s of the device's memory
    latency : cycles from an instruction's last element to its result being readable
    wide_stride : bytes; a most-minor stride of at least this halves the rate
    sbuf : bytes a partition that a kernel may use
    """

    name: str
    dma_rate: Alternative
    hbm: Alternative
    latency: Alternative
    wide_stride: Alternative
    sbuf: Alternative


def readings(core: NeuronCore) -> tuple[Reading, Reading]:
    """The most and the least favourable reading of the documents, in this order."""

    def pick(best: Callable, name: str) -> Reading:
        worst = min if best is max else max

        def value(alternatives: Iterable[Alternative], choose: Callable):
            return choose(alternatives, key=lambda a: a.value)

        return Reading(
            name=name,
            dma_rate=value(core.dma.rates, best),
            hbm=value(core.hbm.bandwidths, best),
            latency=value(core.result_latency, worst),
            wide_stride=value(core.wide_stride, best),
            sbuf=value(core.usable_sbuf, best),
        )

    return pick(max, "fast"), pick(min, "slow")


@dataclass(frozen=True)
class Cost:
    """Cycles of the engine and the rule they come from."""

    cycles: float
    rule: str


def cost(instruction: Instruction, core: NeuronCore, reading: Reading) -> Cost:
    """Cycles an instruction streams data through its engine, without the floor MIN_II.

    Parameters
    ----------
    instruction : any instruction but a DMA transfer (see `neuronsim.dma`)
    core : whose engine runs it
    reading : decides whether a stride of exactly 16 bytes halves the rate

    Returns
    -------
    Cost
        the engine may start its next instruction after ``max(MIN_II, cycles)``
    """
    rule = _RULES.get(instruction.operation, _general)
    plain = rule(instruction, core)
    if instruction.engine in ("Tensor", "Sync") or not _any_wide(instruction, reading):
        return plain
    return Cost(2 * plain.cycles, f"2 × ({plain.rule}): stride halves the rate")


def interval(instruction: Instruction, core: NeuronCore, reading: Reading) -> float:
    """Seconds until the engine can start its next instruction."""
    if instruction.engine == "Sync":
        return 0.0
    cycles = cost(instruction, core, reading).cycles
    engine = core.engines[instruction.engine]
    return engine.seconds(max(core.min_interval_cycles, cycles))


def visible(instruction: Instruction, core: NeuronCore, reading: Reading) -> float:
    """Seconds until a dependent instruction can read the result."""
    if instruction.engine == "Sync":
        return 0.0
    cycles = cost(instruction, core, reading).cycles + reading.latency.value
    engine = core.engines[instruction.engine]
    floor = engine.seconds(core.min_interval_cycles)
    return max(floor, engine.seconds(cycles))


def flops(instruction: Instruction) -> int:
    """Arithmetic operations of an instruction: one an element and operator."""
    if instruction.operation in _NO_ARITHMETIC or instruction.engine == "DMA":
        return 0
    if instruction.operation == "nc_matmul" and len(instruction.reads) > 1:
        stationary, moving = instruction.reads[:2]
        return 2 * moving.shape[0] * _free(stationary) * _free(moving)
    operators = sum(name not in ("copy", "broadcast") for name in instruction.alu)
    return instruction.partitions * instruction.elements * operators


def itemsize(access: Access) -> int:
    """Bytes of one element of an operand."""
    return access.bytes // max(1, math.prod(access.shape))


# --- the formulas ---------------------------------------------------------------------


def _tensor_tensor(i: Instruction, core: NeuronCore) -> Cost:
    n, (a, b) = i.elements, i.reads[:2]
    if core.name != "NeuronCore-v2" and _perf_mode(i, [a, b, *i.writes]):
        return Cost(n, "N: all 16-bit in SBUF (performance mode, v3)")
    if {a.buffer, b.buffer} == {"sbuf", "psum"}:
        return Cost(n, "N: one input in PSUM, the other in SBUF")
    fast = set(i.alu) <= _BF16_FAST and _all(i, ("bfloat16",)) and _contiguous(i)
    if fast and a.buffer == b.buffer == "sbuf":
        return Cost(n, "N: bf16 add, multiply or subtract, contiguous in SBUF")
    return Cost(2 * n, "2N: two input tensors")


def _scalar_tensor_tensor(i: Instruction, core: NeuronCore) -> Cost:
    n = i.elements
    fast = i.alu == ("subtract", "multiply") and _all(i, ("bfloat16",)) and n % 2 == 0
    return Cost(n, "N: bf16 subtract, multiply") if fast else Cost(2 * n, "2N")


def _one_input(i: Instruction, core: NeuronCore) -> Cost:
    n = i.elements
    if core.name == "NeuronCore-v2" or i.engine != "Vector":
        return Cost(n, "N: one input tensor")
    touched = [*_tensors(i)[:1], *i.writes]
    if _perf_mode(i, touched) and _contiguous(i):
        return Cost(n / 4, "N/4: 16-bit, contiguous in SBUF (performance mode, v3)")
    if _perf_mode(i, touched):
        return Cost(n / 2, "N/2: 16-bit in SBUF (performance mode, v3)")
    return Cost(n, "N: one input tensor")


def _activation_reduce(i: Instruction, core: NeuronCore) -> Cost:
    n = max(core.min_interval_cycles, i.elements)
    return Cost(n + core.accumulator_cycles, "max(MIN_II, N) + MIN_II")


def _read_accumulator(i: Instruction, core: NeuronCore) -> Cost:
    return Cost(core.accumulator_cycles, "64: read the accumulators back")


def _reciprocal(i: Instruction, core: NeuronCore) -> Cost:
    return Cost(8 * i.elements, "8N: nisa.reciprocal on the Vector engine")


def _two_reads(i: Instruction, core: NeuronCore) -> Cost:
    if {a.buffer for a in _tensors(i)[:2]} == {"sbuf", "psum"}:
        return Cost(i.elements, "N: SBUF and PSUM")
    return Cost(2 * i.elements, "2N")


def _scan(i: Instruction, core: NeuronCore) -> Cost:
    return Cost(2 * i.elements, "2N: tensor_tensor_scan")


def _reduce(i: Instruction, core: NeuronCore) -> Cost:
    n = math.prod(i.reads[0].shape[1:])
    if _all(i, ("bfloat16",)) and i.reads[0].buffer == "sbuf":
        return Cost(n / 2, "N/2: bf16 reduction")
    return Cost(n, "N of the input")


def _gpsimd_kernel(i: Instruction, core: NeuronCore) -> Cost:
    return Cost(core.gpsimd_start_cycles + i.elements, "150 + N: GpSimd kernel")


def _matmul(i: Instruction, core: NeuronCore) -> Cost:
    """Moving columns, at least 64, or a quarter of the stationary ones; fp32 fourfold.

    Loading the stationary matrix runs in the background, four times as fast.
    """
    *stationary, moving = i.reads[:2]  # a broadcast has no stationary operand
    passes = _passes(i, core)
    floor = core.matmul_min_cycles
    loading = max((_free(a) / core.matmul_load_speedup for a in stationary), default=0)
    cycles = max(_free(moving), floor, loading)
    return Cost(passes * cycles, f"{passes} × max(N moving, {floor}, N stationary / 4)")


def _transpose(i: Instruction, core: NeuronCore) -> Cost:
    if i.engine == "Tensor":
        passes, floor = _passes(i, core), core.matmul_min_cycles
        cycles = passes * max(floor, i.elements)
        return Cost(cycles, f"{passes} × max(N, {floor}): a matmul")
    return Cost(i.elements, "N: 32×32 blocks on the Vector engine")


def _passes(i: Instruction, core: NeuronCore) -> int:
    return core.matmul_fp32_passes if "float32" in {a.dtype for a in i.reads} else 1


def _general(i: Instruction, core: NeuronCore) -> Cost:
    inputs = min(2, max(1, len(_tensors(i))))
    return Cost(inputs * i.elements, f"{inputs}N: the general rule")


_RULES: dict[str, Callable[[Instruction, NeuronCore], Cost]] = {
    "tensor_tensor": _tensor_tensor,
    "scalar_tensor_tensor": _scalar_tensor_tensor,
    "tensor_scalar": _one_input,
    "tensor_copy": _one_input,
    "memset": _one_input,
    "activation": _one_input,
    "activation_reduce": _activation_reduce,
    "activation_read_accumulator": _read_accumulator,
    "reciprocal": _reciprocal,
    "tensor_copy_predicated": _two_reads,
    "select_reduce": _two_reads,
    "tensor_tensor_scan": _scan,
    "tensor_reduce": _reduce,
    "iota": _gpsimd_kernel,
    "affine_select": _gpsimd_kernel,
    "local_gather": _gpsimd_kernel,
    "nc_matmul": _matmul,
    "nc_transpose": _transpose,
}


# --- what the formulas ask about operands ---------------------------------------------


def _free(access: Access) -> int:
    return math.prod(access.shape[1:])


def _tensors(i: Instruction) -> list[Access]:
    """Operands with more than one element a partition: the streamed ones."""
    streamed = [a for a in i.reads if _free(a) > 1]
    return streamed if len(streamed) > 1 or i.elements > 1 else list(i.reads)


def _all(i: Instruction, dtypes: tuple[str, ...]) -> bool:
    return all(a.dtype in dtypes for a in (*i.reads, *i.writes))


def _perf_mode(i: Instruction, touched: list[Access]) -> bool:
    return i.engine == "Vector" and all(
        a.buffer == "sbuf" and a.dtype in _HALF for a in touched
    )


def _contiguous(i: Instruction) -> bool:
    return all(_minor_stride(a) <= 1 for a in (*_tensors(i), *i.writes))


def _minor_stride(access: Access) -> int:
    """Stride of the fastest free dimension that has more than one element."""
    pairs = list(zip(access.shape[1:], access.strides[1:], strict=True))
    return next((abs(stride) for size, stride in reversed(pairs) if size > 1), 0)


def _any_wide(i: Instruction, reading: Reading) -> bool:
    return any(
        _minor_stride(a) * itemsize(a) >= reading.wide_stride.value
        for a in (*i.reads, *i.writes)
        if a.buffer != "hbm"
    )

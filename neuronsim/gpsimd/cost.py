"""What an operator's call would cost on GpSimd: a range, from documented rates.

AWS says "there is no rule-of-thumb to estimate execution cost of a GpSimdE
instruction", so the estimate is two ends. The fast end fills all 16 lanes and moves
64 bytes a cycle, both at once. The slow end computes one operation a cycle and moves
each element at the rate of AWS's published ReLU example, one after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronsim.gpsimd import limits
from neuronsim.gpsimd.findings import Counters
from neuronsim.hardware import NEURONCORE_V2

_ITEM = 4  # bytes of the published example's elements
_LANES = limits.VECTOR_BITS // (8 * _ITEM)


@dataclass(frozen=True)
class Rates:
    """Seconds that AWS's published ReLU example spent, by the way it reached data."""

    element_access: float  # one read or write through an element accessor
    moved_element: float  # one fp32 element through TCM, with its share of the loop
    rest: float  # of one iteration of that model, outside the operator


@dataclass(frozen=True)
class Estimate:
    """Predicted seconds on the slowest core; ``fast <= slow``."""

    fast: float
    slow: float
    compute: tuple[float, float]  # all lanes, one lane
    transfers: tuple[float, float]  # SBUF rate, published rate


def published_rates() -> Rates:
    """Solve AWS's three published rates of the ReLU example for what they share.

    One core and eight cores differ by 7/8 of the operator's time; the rest of the
    model takes what remains.
    """
    example = limits.AWS_RELU
    one, eight = 1 / example.tcm, 1 / example.multicore
    operator = (one - eight) * limits.CORES / (limits.CORES - 1)
    rest = one - operator
    by_element = 1 / example.element_accessor - rest
    moves = 2 * example.elements  # each element is read and written
    return Rates(by_element / moves, operator / moves, rest)


def estimate(counters: Sequence[Counters], operations: float) -> Estimate:
    """Predict a call's time on GpSimd from what its cores moved.

    Parameters
    ----------
    counters
        Of each core (``library.report.counters``).
    operations
        fp32 arithmetic operations of the whole call, shared evenly by the cores. Each
        counts as one cycle of a lane, a division too: nothing better is documented.

    Returns
    -------
    Estimate
        Seconds, of the core that moved most; without the launch of the operator.
    """
    clock = NEURONCORE_V2.engines["GpSimd"].clock_hz
    rates, each = published_rates(), operations / len(counters)
    compute = each / _LANES / clock, each / clock
    ends = zip(*(_transfers(core, clock, rates) for core in counters), strict=True)
    fast, slow = (max(end) for end in ends)
    accesses = max(core.element_accesses for core in counters) * rates.element_access
    return Estimate(
        fast=max(compute[0], fast) + accesses,
        slow=compute[1] + slow + accesses,
        compute=compute,
        transfers=(fast, slow),
    )


def _transfers(core: Counters, clock: float, rates: Rates) -> tuple[float, float]:
    """Seconds of block and stream transfers: reads and writes at once, or in turn."""
    streamed = core.stream_accesses * _ITEM
    moved = core.bytes_in + core.bytes_out + streamed
    widest = max(core.bytes_in, core.bytes_out, streamed)
    fast = widest / limits.SBUF_BYTES_PER_CYCLE / clock
    return fast, moved / _ITEM * rates.moved_element

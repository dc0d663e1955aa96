"""The instruction stream of a kernel: what a cost model or a timeline reads.

Nothing is recorded, and next to nothing is spent, unless somebody asks::

    with record() as trace:
        nki.simulate_kernel(kernel, a, b)
    for instruction in trace:
        print(instruction.engine, instruction.operation, instruction.elements)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA")


@dataclass(frozen=True)
class Access:
    """One operand of one instruction: an access pattern into an allocation.

    Attributes
    ----------
    tensor : int
        Id of the allocation, unique in a trace.
    name : str
        The variable's or argument's name if known, else "".
    buffer : str
        "hbm", "sbuf" or "psum".
    dtype : str
        Name of the NumPy or ml_dtypes type, e.g. "float32", "bfloat16".
    shape : tuple of int
        Shape of the accessed view, partition dimension first (sbuf, psum).
    strides : tuple of int
        Strides of the same view, in elements; 0 for a broadcast dimension.
    start_partition : int
        First partition touched; 0 in HBM.
    first, last : int
        First byte touched and one past the last: within a partition for sbuf
        and psum, within the tensor for hbm.
    bytes : int
        Payload, all partitions (elements × item size).
    """

    tensor: int
    name: str
    buffer: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start_partition: int
    first: int
    last: int
    bytes: int


@dataclass(frozen=True)
class Instruction:
    """One instruction of one engine, in program order.

    Attributes
    ----------
    index : int
        Position in the trace.
    engine : str
        One of `ENGINES`; "DMA" is a transfer.
    operation : str
        nisa name: "tensor_tensor", "activation", "dma_copy", "nc_matmul", …
    alu : tuple of str
        ("add",), ("subtract", "multiply"), or the activation function's name.
    reads, writes : tuple of Access
        Operands and results.
    partitions : int
        Partitions processed.
    elements : int
        N, the free elements per partition.
    loops : tuple of (int, int, str)
        Enclosing loops, outermost first: (loop id, iteration, kind), where kind
        is "affine", "sequential" or "static".
    program : tuple of int
        SPMD program id; () without a grid.
    source : tuple of (str, int)
        File and line in the kernel's own source.
    """

    index: int
    engine: str
    operation: str
    alu: tuple[str, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    partitions: int
    elements: int
    loops: tuple[tuple[int, int, str], ...]
    program: tuple[int, ...]
    source: tuple[str, int]


@dataclass(frozen=True)
class Allocation:
    """A tensor that the kernel was given or has allocated."""

    name: str
    buffer: str
    shape: tuple[int, ...]
    dtype: str


class Trace(list[Instruction]):
    """The instructions of a run, plus ``allocations``: tensor id → `Allocation`."""

    def __init__(self) -> None:
        super().__init__()
        self.allocations: dict[int, Allocation] = {}


_recording: ContextVar[Trace | None] = ContextVar("recording", default=None)


@contextmanager
def record() -> Iterator[Trace]:
    """Record every instruction simulated inside the ``with`` block.

    Yields
    ------
    Trace
        Filled while the block runs; recordings nest, the innermost one records.
    """
    trace = Trace()
    token = _recording.set(trace)
    try:
        yield trace
    finally:
        _recording.reset(token)


def active() -> Trace | None:
    """Return the trace being recorded, or None."""
    return _recording.get()

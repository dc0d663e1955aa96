"""Build instruction streams by hand, for tests that need no simulator."""

import math

import numpy as np

from neuronsim.trace import Access, Allocation, Instruction, Trace

_SIZES = {"bfloat16": 2, "float16": 2}


class Stream(Trace):
    """A trace that grows by `tile`, `hbm`, `load`, `store` and `compute`."""

    loops: tuple[tuple[int, int, str], ...] = ()
    program: tuple[int, ...] = ()
    line: int | None = None  # of the next instructions; their number if not given

    def tile(self, *shape: int, buffer="sbuf", dtype="float32", name="") -> int:
        """Allocate a tensor; the partition dimension comes first."""
        number = len(self.allocations)
        self.allocations[number] = Allocation(name, buffer, shape, dtype)
        return number

    def hbm(self, *shape: int, dtype="float32") -> int:
        return self.tile(*shape, buffer="hbm", dtype=dtype)

    def view(self, tensor: int, *index) -> Access:
        """An access pattern, by NumPy basic indexing: ``view(t, :, slice(0, 8))``."""
        allocation = self.allocations[tensor]
        size = _SIZES.get(allocation.dtype) or np.dtype(allocation.dtype).itemsize
        whole = np.empty(allocation.shape, dtype=f"V{size}")
        part = whole[index] if index else whole
        start = (
            part.__array_interface__["data"][0] - (whole.__array_interface__["data"][0])
        )
        strides = tuple(s // size for s in part.strides)
        reach = [(n - 1) * s * size for n, s in zip(part.shape, strides, strict=True)]
        partition = 0
        if allocation.buffer != "hbm":
            row = math.prod(allocation.shape[1:]) * size
            partition, start = divmod(start, row)
            reach = reach[1:]
        return Access(
            tensor=tensor,
            name=allocation.name,
            buffer=allocation.buffer,
            dtype=allocation.dtype,
            shape=part.shape,
            strides=strides,
            start_partition=partition,
            first=start,
            last=start + sum(reach) + size,
            bytes=part.size * size,
        )

    def load(self, tensor: int, *, at: tuple = ()) -> int:
        """Copy (a part of) an HBM tensor into a fresh SBUF tile."""
        source = self.view(tensor, *at)
        tile = self.tile(*source.shape, dtype=source.dtype)
        self.compute("DMA", "dma_copy", [source], [tile])
        return tile

    def store(self, tile, tensor: int, *, at: tuple = ()) -> None:
        self.compute("DMA", "dma_copy", [tile], [self.view(tensor, *at)])

    def compute(self, engine, operation, reads, writes, alu=("add",)) -> None:
        """Append one instruction; operands are tensors (whole) or `view`s."""
        reads, writes = (
            tuple(self.view(x) if isinstance(x, int) else x for x in operands)
            for operands in (reads, writes)
        )
        self.append(
            Instruction(
                index=len(self),
                engine=engine,
                operation=operation,
                alu=alu,
                reads=reads,
                writes=writes,
                partitions=writes[0].shape[0],
                elements=math.prod(writes[0].shape[1:]),
                loops=self.loops,
                program=self.program,
                source=("hand.py", len(self) if self.line is None else self.line),
            )
        )

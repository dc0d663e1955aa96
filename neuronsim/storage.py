"""Allocations in HBM, SBUF and PSUM: their bytes, and which of them are written."""

from __future__ import annotations

import math

import numpy as np

from neuronsim import rules
from neuronsim.index import Shape
from neuronsim.run import Run, current
from neuronsim.trace import Allocation, active

HBM, SBUF, PSUM = "hbm", "sbuf", "psum"


class Storage:
    """One allocation; on-chip memory is given back when the last tile goes.

    Attributes
    ----------
    array : ndarray
        The contents, C-contiguous unless it is an argument of the kernel.
    written : ndarray of bool, or None
        Which elements have been written; None means all.
    origin : str
        Where elements that are not written come from, if not from this tensor.
    writable : bool
        False for an argument that the kernel must leave alone.
    """

    __slots__ = (
        "array",
        "buffer",
        "id",
        "name",
        "origin",
        "run",
        "size",
        "writable",
        "written",
    )

    def __init__(
        self,
        array: np.ndarray,
        buffer: str,
        *,
        name: str = "",
        written: bool | np.ndarray = True,
        writable: bool = True,
    ) -> None:
        self.size = 0  # what to give back; nothing if this fails half-way
        self.run = current()
        self.id = self.run.next_tensor()
        self.array, self.buffer, self.name = array, buffer, name
        self.written = self._mask(written)
        self.origin = ""
        self.writable = writable
        if buffer != HBM:
            self._claim()
        if (trace := active()) is not None:
            trace.allocations[self.id] = self.describe()

    def _mask(self, written: bool | np.ndarray) -> np.ndarray | None:
        if isinstance(written, np.ndarray):
            return np.array(written)
        return None if written else np.zeros(self.array.shape, dtype=bool)

    def mirror(self, view: np.ndarray) -> np.ndarray:
        """Return the part of ``written`` that corresponds to a view of the array."""
        if self.written is None:
            self.written = np.ones(self.array.shape, dtype=bool)
        size = self.array.itemsize
        offset = (address(view) - address(self.array)) // size
        strides = [stride // size for stride in view.strides]
        flat = self.written.reshape(-1)[offset:]
        return np.lib.stride_tricks.as_strided(flat, view.shape, strides)

    def describe(self) -> Allocation:
        """Return what the trace says about this allocation."""
        return Allocation(
            self.name, self.buffer, self.array.shape, str(self.array.dtype)
        )

    @property
    def partition_bytes(self) -> int:
        """Bytes that one partition of an on-chip tensor takes."""
        return math.prod(self.array.shape[1:]) * self.array.itemsize

    def _claim(self) -> None:
        run, hardware = self.run, self.run.hardware
        check_shape(self.array.shape, self.buffer, run)
        if self.buffer == SBUF:
            run.sbuf += self.partition_bytes
            self.size = self.partition_bytes
            if run.sbuf > hardware.sbuf_bytes_per_partition:
                self._full("sbuf_capacity", f"{run.sbuf} bytes a partition in use")
        else:
            self.size = -(-self.partition_bytes // hardware.psum_bank_bytes)
            run.psum += self.size
            if run.psum > hardware.psum_banks:
                self._full("psum_capacity", f"{run.psum} banks in use")

    def _full(self, rule: str, use: str) -> None:
        what = f"{use} with the new tile of shape {self.array.shape}"
        rules.broken(rule, f"{what} and dtype {self.array.dtype}", self.run.hardware)

    def __del__(self) -> None:
        if not self.size:
            return
        if self.buffer == SBUF:
            self.run.sbuf -= self.size
        else:
            self.run.psum -= self.size


def check_shape(shape: Shape, buffer: str, run: Run) -> None:
    """Check a tile's shape against the limits of partitions and free elements."""
    hardware = run.hardware
    if not 2 <= len(shape) <= 5:
        rules.broken("dimensions", f"a tile of shape {shape}", hardware)
    if shape and shape[0] > hardware.partitions:
        what = f"a tile of shape {shape} has {shape[0]} partitions"
        rules.broken("partitions", what, hardware)
    elements = math.prod(shape[1:])
    limit = hardware.free_limit_psum if buffer == PSUM else hardware.free_limit_sbuf
    if elements > limit:
        what = f"a tile of shape {shape} in {buffer} has {elements} elements"
        rules.broken("free_size", f"{what} a partition", hardware)
    if elements == 0 or shape[0] == 0:
        rules.broken("empty", f"a tile of shape {shape}", hardware)


def address(array: np.ndarray) -> int:
    """Return where an array's first element lies in the CPU's memory."""
    return array.__array_interface__["data"][0]

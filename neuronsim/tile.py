"""Tensors in HBM, SBUF and PSUM, and the access patterns that instructions use.

A `Storage` is an allocation: an array, which of it has been written, and where it lives.
A `Tile` is an access pattern into a storage: what `nl.ndarray` returns and what a
subscript gives. Subscripts never copy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuronsim import dtypes, rules
from neuronsim.index import Affine, Pattern, Rectangle, Region, Shape, basic
from neuronsim.run import Run, current
from neuronsim.trace import Access, Allocation, active

HBM, SBUF, PSUM = "hbm", "sbuf", "psum"
_UNWRITTEN_INTEGER = 4  # what AWS's own simulator fills integers with


class Storage:
    """One allocation; on-chip memory is given back when the last tile goes."""

    __slots__ = ("array", "buffer", "id", "name", "run", "size", "writable", "written")

    def __init__(
        self,
        array: np.ndarray,
        buffer: str,
        *,
        name: str = "",
        written: bool = True,
        writable: bool = True,
    ) -> None:
        self.run, self.size = current(), 0
        self.id = self.run.next_tensor()
        self.array, self.buffer, self.name = array, buffer, name
        self.written = None if written else np.zeros(array.shape, dtype=bool)
        self.writable = writable
        if buffer != HBM:
            self._claim()
        if (trace := active()) is not None:
            trace.allocations[self.id] = self.describe()

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
        if self.buffer == SBUF:
            self.run.sbuf -= self.size
        elif self.buffer == PSUM:
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


def allocate(
    shape: Shape, dtype: np.dtype, buffer: str, name: str = "", written: bool = False
) -> Tile:
    """Return a new tensor; float memory reads as NaN until it is written."""
    fill = _UNWRITTEN_INTEGER if dtypes.is_integer(dtype) else np.nan
    array = np.full(shape, fill, dtype=dtype)
    storage = Storage(array, buffer, name=name, written=written)
    return Tile(storage, array)


class Tile:
    """An access pattern into a tensor.

    Attributes
    ----------
    shape : tuple of int
        Partition dimension first, on chip.
    dtype : numpy.dtype
    buffer : str
        "hbm", "sbuf" or "psum".
    """

    __slots__ = ("pattern", "shape", "storage", "view")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        storage: Storage,
        view: np.ndarray | None,
        pattern: Pattern | None = None,
    ) -> None:
        self.storage = storage
        self.view = view
        self.pattern = pattern
        self.shape: Shape = pattern.shape if view is None else view.shape  # type: ignore

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self.storage.array.dtype

    @property
    def buffer(self) -> str:
        """Where the tensor lives: "hbm", "sbuf" or "psum"."""
        return self.storage.buffer

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def elements(self) -> int:
        """Free elements a partition."""
        return math.prod(self.shape[1:])

    def __repr__(self) -> str:
        name = name_of(self.storage) or "tile"
        return f"<{name} {self.shape} {self.dtype} in {self.buffer}>"

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        rules.broken("loop_index", f"{self!r} was used as a condition", always=True)
        return False

    def __getitem__(self, key: Any) -> Tile:
        key = key if isinstance(key, tuple) else (key,)
        if any(isinstance(item, (Affine, np.ndarray)) for item in key):
            return self._advanced(key)
        view = basic(self._direct(), key)
        axes = [a for a, item in enumerate(key) if not isinstance(item, slice)]
        if axes and Ellipsis not in key:
            view = _dropped(view, axes, keep=self.buffer != HBM)
        return Tile(self.storage, view)

    def _advanced(self, key: tuple[Any, ...]) -> Tile:
        if any(isinstance(item, slice) or item is Ellipsis for item in key):
            what = f"{self!r} was indexed with slices and index expressions"
            rules.broken("mixed_indexing", what, always=True)
        pattern = Pattern(self._direct(), key)
        view = pattern.view()
        return Tile(self.storage, view, None if view is not None else pattern)

    def _direct(self) -> np.ndarray:
        """Return the view; a pattern that is none is a gather, which does not nest."""
        if self.view is None:
            self.pattern.indices()  # type: ignore[union-attr]
            what = f"{self!r} is a gather and was indexed again"
            rules.broken("mixed_indexing", what, always=True)
        return self.view  # type: ignore[return-value]

    def reshape(self, *shape: Any) -> Tile:
        """Return the same elements in another shape; the partitions stay."""
        new = tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape
        view = self._direct().view()
        view.shape = new  # raises where a copy would be needed
        return Tile(self.storage, view)

    def expand_dims(self, axis: int) -> Tile:
        """Return the tile with a dimension of size 1 inserted."""
        return Tile(self.storage, np.expand_dims(self._direct(), axis))

    def ap(self, pattern: list[list[int]], offset: int = 0) -> Tile:
        """Access pattern of generation 2: ``[[step, count], …]`` in elements.

        The first pair walks the partitions (on chip), the others the free elements.
        """
        base, size = self._direct(), self.storage.array.itemsize
        steps = [step * size for step, _ in pattern]
        shape = tuple(count for _, count in pattern)
        reach = offset + sum(step * (count - 1) for step, count in pattern)
        if not base.flags.c_contiguous or offset < 0 or reach >= base.size:
            what = f"pattern {pattern} with offset {offset} leaves {self!r}"
            rules.broken("out_of_bounds", what, always=True)
        origin = base.reshape(-1)[offset:]
        return Tile(self.storage, np.lib.stride_tricks.as_strided(origin, shape, steps))

    def located(self, region: Region) -> np.ndarray | None:
        """Return a view of the region; None where only a gather reaches it."""
        if self.view is None:
            rectangle = region if isinstance(region, tuple) else None
            return None if self.pattern is None else self.pattern.view(rectangle)
        return self.view[region] if isinstance(region, tuple) else self.view

    def read(self, region: Region = None) -> np.ndarray:
        """Return the values of a region (all of them for a boolean region)."""
        view = self.located(region)
        if view is not None:
            if self.storage.written is not None:
                self._check_written(_mirror(self.storage, view), region)
            return view
        return self._gather(region)

    def read_view(self) -> np.ndarray:
        """Return the view without a look at what has been written."""
        return self._gather(None) if self.view is None else self.view

    def _gather(self, region: Region) -> np.ndarray:
        pattern = self.pattern
        assert pattern is not None
        index = pattern.indices(region)
        values = pattern.array[index]
        if self.storage.written is not None:
            written = _mirror(self.storage, pattern.array)[index]
            self._check_written(written, None)
        if not isinstance(region, np.ndarray):
            return values
        full = np.zeros(self.shape, dtype=values.dtype)
        full[region] = values
        return full

    def _check_written(self, written: np.ndarray, region: Region) -> None:
        if isinstance(region, np.ndarray):
            written = written[region]
        if not written.all():
            missing = written.size - int(np.count_nonzero(written))
            what = f"{self!r}: {missing} of {written.size} elements read, never written"
            rules.broken("unwritten", what)

    def write(self, values: np.ndarray, region: Region = None) -> None:
        """Write values, already in this tile's dtype and the region's shape."""
        storage = self.storage
        if not (storage.writable and storage.array.flags.writeable):
            what = f"{self!r} was written"
            rules.broken("immutable_argument", what, always=not storage.writable)
        view = self.located(region)
        if view is None:
            self._scatter(values, region)
        elif isinstance(region, np.ndarray):
            np.copyto(view, values, where=region)
        else:
            view[...] = values
        if storage.written is not None and view is not None:
            self._mark(view, region)

    def _scatter(self, values: np.ndarray, region: Region) -> None:
        pattern = self.pattern
        assert pattern is not None
        index = pattern.indices(region)
        chosen = values[region] if isinstance(region, np.ndarray) else values
        pattern.array[index] = chosen
        if self.storage.written is not None:
            _mirror(self.storage, pattern.array)[index] = True

    def _mark(self, view: np.ndarray, region: Region) -> None:
        storage = self.storage
        if isinstance(region, np.ndarray):
            _mirror(storage, view)[region] = True
        elif view.size == storage.array.size and 0 not in view.strides:
            storage.written = None
        else:
            _mirror(storage, view)[...] = True

    def access(self, region: Region = None) -> Access:
        """Describe this operand for the trace."""
        view = self.located(region)
        storage = self.storage
        if view is None or view.size == 0:
            view = storage.array
        size = view.itemsize
        first = _address(view) - _address(storage.array)
        steps = zip(view.shape, view.strides, strict=True)
        reach = [(count - 1) * step for count, step in steps]
        start = 0
        if storage.buffer != HBM:
            start, first = divmod(first, max(storage.partition_bytes, 1))
            reach = reach[1:]
        return Access(
            tensor=storage.id,
            name=storage.name or name_of(storage),
            buffer=storage.buffer,
            dtype=str(view.dtype),
            shape=view.shape,
            strides=tuple(stride // size for stride in view.strides),
            start_partition=start,
            first=first + sum(min(r, 0) for r in reach),
            last=first + sum(max(r, 0) for r in reach) + size,
            bytes=view.size * size,
        )


def _dropped(view: np.ndarray, axes: list[int], keep: bool) -> np.ndarray:
    """Drop the axes indexed by an integer; on chip a tile keeps two dimensions."""
    if keep:
        axes = [axis for axis in axes if axis > 0][: max(view.ndim - 2, 0)]
    return view.squeeze(tuple(axes))


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _mirror(storage: Storage, view: np.ndarray) -> np.ndarray:
    """Return the part of ``storage.written`` that corresponds to a view."""
    written, size = storage.written, storage.array.itemsize
    assert written is not None
    offset = (_address(view) - _address(storage.array)) // size
    strides = [stride // size for stride in view.strides]
    flat = written.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(flat, view.shape, strides)


def name_of(storage: Storage) -> str:
    """Return the tensor's name, or that of the kernel's variable that holds it."""
    if not storage.name:
        for name, value in rules.kernel_frame().f_locals.items():
            if isinstance(value, Tile) and value.storage is storage:
                storage.name = name
                if (trace := active()) is not None:
                    trace.allocations[storage.id] = storage.describe()
                break
    return storage.name


def argument(array: np.ndarray, name: str, writable: bool) -> Tile:
    """Return the HBM tensor that stands for an argument of the kernel; no copy."""
    if array.ndim == 0:
        what = f"argument {name} has no dimensions (shape ())"
        rules.broken("argument", what, always=True)
    if array.dtype not in dtypes.NAMES.values():
        what = f"argument {name} has dtype {array.dtype}"
        rules.broken("dtype", what, always=True)
    return Tile(Storage(array, HBM, name=name, writable=writable), array)


def rectangle_shape(region: Rectangle) -> Shape:
    """Return the shape of a rectangle."""
    return tuple(limit.stop - limit.start for limit in region)

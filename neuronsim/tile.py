"""Access patterns: what `nl.ndarray` returns, what a subscript gives; never a copy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuronsim import dtypes, rules
from neuronsim.index import Affine, Pattern, Rectangle, Region, Shape, basic
from neuronsim.storage import HBM, Storage, address
from neuronsim.trace import Access, active

_UNWRITTEN_INTEGER = 4  # what AWS's own simulator fills integers with


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
        rules.broken("condition", f"{self!r} was used as a condition", always=True)
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

    def peek(self, region: Region = None) -> tuple[np.ndarray, np.ndarray | None]:
        """Read values and, if some are not written, which are (else None).

        A masked load leaves a tile partly unwritten; instructions may process the
        rest, whose results count as unwritten too. A tile of which nothing has been
        written is an error at once.

        Returns
        -------
        values, written : ndarray, ndarray of bool or None
            Of the region if it is a rectangle, else of the whole tile.
        """
        view, storage = self.located(region), self.storage
        if view is None:
            values, written = self._gather(region)
        elif storage.written is None:
            return view, None
        else:
            values, written = view, storage.mirror(view)
        if written is None:
            return values, None
        wanted = written[region] if isinstance(region, np.ndarray) else written
        if wanted.all():
            return values, None
        if not wanted.any():
            self._unwritten(wanted)
        return values, written

    def read(self, region: Region = None) -> np.ndarray:
        """Read values that must all have been written (NaN if rules are off)."""
        values, written = self.peek(region)
        if written is not None:
            self._unwritten(
                written[region] if isinstance(region, np.ndarray) else written
            )
        return values

    def _unwritten(self, written: np.ndarray) -> None:
        missing = written.size - int(np.count_nonzero(written))
        what = f"{self!r}: {missing} of {written.size} elements read, never written"
        origin = self.storage.origin
        rules.broken("unwritten", what + (f" (they come from {origin})" * bool(origin)))

    def _gather(self, region: Region) -> tuple[np.ndarray, np.ndarray | None]:
        pattern, storage = self.pattern, self.storage
        assert pattern is not None
        index = pattern.indices(region)
        parts = [pattern.array[index]]
        if storage.written is not None:
            parts.append(storage.mirror(pattern.array)[index])
        if isinstance(region, np.ndarray):
            parts = [_spread(part, region) for part in parts]
        return parts[0], parts[1] if len(parts) > 1 else None

    def is_written(self) -> bool:
        """Whether every element has been written."""
        view = self.located(None)
        if self.storage.written is None or view is None:
            return self.storage.written is None
        return bool(self.storage.mirror(view).all())

    def read_view(self) -> np.ndarray:
        """Return the view without a look at what has been written."""
        return self._gather(None)[0] if self.view is None else self.view

    def write(
        self,
        values: np.ndarray,
        region: Region = None,
        written: np.ndarray | None = None,
    ) -> None:
        """Write values, already in this tile's dtype and the region's shape.

        ``written`` says which of them are to count as written; None means all.
        """
        storage = self.storage
        if not (storage.writable and storage.array.flags.writeable):
            what = f"{self!r} was written"
            frozen = not storage.array.flags.writeable
            rules.broken("immutable_argument", what, always=frozen)
        view = self.located(region)
        if view is None:
            self._scatter(values, region)
            return
        _put(view, values, region)
        if storage.written is None and written is None:
            return
        if written is None and region is None and _covers(view, storage.array):
            storage.written = None
        else:
            _put(storage.mirror(view), True if written is None else written, region)

    def _scatter(self, values: np.ndarray, region: Region) -> None:
        pattern = self.pattern
        assert pattern is not None
        index = pattern.indices(region)
        chosen = values[region] if isinstance(region, np.ndarray) else values
        pattern.array[index] = chosen
        if self.storage.written is not None:
            self.storage.mirror(pattern.array)[index] = True

    def access(self, region: Region = None) -> Access:
        """Describe this operand for the trace."""
        view = self.located(region)
        storage = self.storage
        if view is None or view.size == 0:
            view = storage.array
        size = view.itemsize
        first = address(view) - address(storage.array)
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


def _spread(values: np.ndarray, region: np.ndarray) -> np.ndarray:
    full = np.zeros(region.shape, dtype=values.dtype)
    full[region] = values
    return full


def _put(target: np.ndarray, values: Any, region: Region) -> None:
    if isinstance(region, np.ndarray):
        np.copyto(target, values, where=region)
    else:
        target[...] = values


def _covers(view: np.ndarray, array: np.ndarray) -> bool:
    return view.size == array.size and 0 not in view.strides


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

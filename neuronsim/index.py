"""Index expressions: `nl.arange`, `nl.mgrid`, `nl.ds`, masks, and how they address.

An index expression is affine: ``offset + Σ coefficient[axis] · i[axis]``. Kept in
that form, a subscript such as ``tile[i_p, 4 * i_f + 1]`` is a strided view and a mask
such as ``(i_p < rows) & (i_f < columns)`` is a rectangle, as they are in the hardware's
access patterns. Anything else (``i_f // 2``) is evaluated to an integer array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from neuronsim import rules

Shape = tuple[int, ...]
Rectangle = tuple[slice, ...]
Region = None | Rectangle | np.ndarray


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer))


def _start(item: slice) -> int:
    return 0 if item.start is None else int(item.start)


class Affine:
    """An affine index expression over the axes of a tile.

    Attributes
    ----------
    offset : int
    coefficients : tuple of int
        One for each axis; 0 where the value does not change.
    shape : tuple of int
        Broadcasts against other expressions as in NumPy.
    """

    __slots__ = ("coefficients", "offset", "shape")
    __array_ufunc__ = None  # let ndarray + Affine come to __radd__
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, offset: int, coefficients: Shape, shape: Shape) -> None:
        self.offset = offset
        self.coefficients = coefficients
        self.shape = shape

    def __getitem__(self, key: Any) -> Affine:
        """Insert axes: ``nl.arange(n)[:, None]``."""
        coefficients, shape = iter(self.coefficients), iter(self.shape)
        axes: list[tuple[int, int]] = []
        for item in key if isinstance(key, tuple) else (key,):
            if item is None:
                axes.append((0, 1))
            elif item == slice(None):
                axes.append((next(coefficients), next(shape)))
            else:
                raise IndexError(f"an index expression takes None and ':', not {item}")
        axes += zip(coefficients, shape, strict=True)
        return Affine(self.offset, *map(tuple, zip(*axes, strict=True)))

    def _aligned(self, ndim: int) -> Shape:
        return (0,) * (ndim - len(self.shape)) + self.coefficients

    def _combined(self, other: Affine, sign: int) -> Affine:
        shape = np.broadcast_shapes(self.shape, other.shape)
        pairs = zip(self._aligned(len(shape)), other._aligned(len(shape)), strict=True)
        coefficients = tuple(a + sign * b for a, b in pairs)
        return Affine(self.offset + sign * other.offset, coefficients, shape)

    def __add__(self, other: Any) -> Any:
        if _is_integer(other):
            return Affine(self.offset + int(other), self.coefficients, self.shape)
        if isinstance(other, Affine):
            return self._combined(other, 1)
        return self.array() + other

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Affine):
            return self._combined(other, -1)
        return self + -other

    def __mul__(self, other: Any) -> Any:
        if _is_integer(other):
            factor = int(other)
            coefficients = tuple(factor * c for c in self.coefficients)
            return Affine(factor * self.offset, coefficients, self.shape)
        return self.array() * (other.array() if isinstance(other, Affine) else other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Affine:
        return self * -1

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __floordiv__(self, other: int) -> np.ndarray:
        return self.array() // other

    def __mod__(self, other: int) -> np.ndarray:
        return self.array() % other

    def __ge__(self, other: Any) -> Mask:
        return _not_negative(self - other)

    def __gt__(self, other: Any) -> Mask:
        return _not_negative(self - other - 1)

    def __le__(self, other: Any) -> Mask:
        return _not_negative(-self + other)

    def __lt__(self, other: Any) -> Mask:
        return _not_negative(-self + other - 1)

    def __eq__(self, other: Any) -> Any:
        return (self >= other) & (self <= other)

    def __ne__(self, other: Any) -> Any:
        return ~(self == other)

    def array(self) -> np.ndarray:
        """Evaluate to an integer array of this expression's shape."""
        value = np.full(self.shape, self.offset, dtype=np.int64)
        for axis, coefficient in enumerate(self.coefficients):
            if coefficient:
                ones = [1] * len(self.shape)
                ones[axis] = -1
                value += coefficient * np.arange(self.shape[axis]).reshape(ones)
        return value

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest value."""
        low = high = self.offset
        for coefficient, size in zip(self.coefficients, self.shape, strict=True):
            reach = coefficient * (size - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def within(self, rectangle: Rectangle) -> Affine:
        """Return the expression restricted to a rectangle of its axes."""
        offset, shape = self.offset, []
        limits = rectangle[len(rectangle) - len(self.shape) :]
        for coefficient, size, limit in zip(
            self.coefficients, self.shape, limits, strict=True
        ):
            if size == 1:
                shape.append(1)
            else:
                offset += coefficient * limit.start
                shape.append(limit.stop - limit.start)
        return Affine(offset, self.coefficients, tuple(shape))


class Mask:
    """Where an instruction acts: a conjunction of affine terms that are all ≥ 0."""

    __slots__ = ("terms", "values")

    def __init__(self, terms: tuple[Affine, ...], values: np.ndarray | None = None):
        self.terms = terms
        self.values = values

    def __and__(self, other: Any) -> Mask:
        if not isinstance(other, Mask):
            return NotImplemented
        arrays = [m.values for m in (self, other) if m.values is not None]
        values = np.logical_and.reduce(np.broadcast_arrays(*arrays)) if arrays else None
        return Mask(self.terms + other.terms, values)

    def __or__(self, other: Mask) -> Mask:
        return Mask((), self.array() | other.array())

    def __invert__(self) -> Mask:
        return Mask((), ~self.array())

    def __bool__(self) -> bool:
        rules.broken("condition", "a mask was used as a condition")
        return bool(self.array().all())

    def array(self, shape: Shape = ()) -> np.ndarray:
        """Evaluate to a boolean array, broadcast to ``shape``."""
        parts = [term.array() >= 0 for term in self.terms]
        parts += [] if self.values is None else [self.values]
        full = np.broadcast_shapes(shape, *(part.shape for part in parts))
        result = np.ones(full, dtype=bool)
        for part in parts:
            result &= part
        return result

    def region(self, shape: Shape) -> Region:
        """Return what is left of a tile: all (None), a rectangle, a boolean array."""
        if self.values is not None:
            return self.array(shape)
        limits = [(0, size) for size in shape]
        for term in self.terms:
            axes = [a for a, c in enumerate(term._aligned(len(shape))) if c]
            if len(axes) > 1:
                return self.array(shape)
            if axes:
                limits[axes[0]] = _narrowed(limits[axes[0]], term, len(shape), axes[0])
            elif term.offset < 0:
                limits = [(0, 0)] * len(shape)
        if limits == [(0, size) for size in shape]:
            return None
        return tuple(slice(low, max(low, high)) for low, high in limits)


def _narrowed(
    limit: tuple[int, int], term: Affine, ndim: int, axis: int
) -> tuple[int, int]:
    """Intersect a range with offset + coefficient · i ≥ 0."""
    low, high = limit
    coefficient = term._aligned(ndim)[axis]
    if coefficient > 0:
        return max(low, -(term.offset // coefficient)), high
    return low, min(high, term.offset // -coefficient + 1)


def _not_negative(value: Any) -> Mask:
    if isinstance(value, Affine):
        return Mask((value,))
    return Mask((), np.asarray(value) >= 0)


def arange(*bounds: int) -> Affine:
    """Consecutive indices: ``arange(stop)`` or ``arange(start, stop)``.

    Add axes before use: ``nl.arange(128)[:, None]``, ``nl.arange(512)[None, :]``.
    """
    start, stop = (0, *bounds) if len(bounds) == 1 else bounds
    return Affine(int(start), (1,), (int(stop) - int(start),))


class Grid(tuple):
    """What `nl.mgrid` returns: one index expression an axis, also `.p .x .y .z .w`."""

    def __getattr__(self, name: str) -> Affine:
        position = "pxyzw".find(name) if len(name) == 1 else -1
        if not 0 <= position < len(self):
            raise AttributeError(f"a grid of {len(self)} axes has no .{name}")
        return self[position]


class MeshGrid:
    """`nl.mgrid[0:128, 0:512]`: index expressions of the whole grid's shape."""

    def __getitem__(self, key: Any) -> Grid:
        slices = key if isinstance(key, tuple) else (key,)
        shape = tuple(int(s.stop) - _start(s) for s in slices)
        axes = range(len(shape))
        return Grid(
            Affine(_start(s), tuple(int(a == axis) for a in axes), shape)
            for axis, s in enumerate(slices)
        )


mgrid = MeshGrid()


def ds(start: int, size: int) -> slice:
    """Return the slice of ``size`` elements from ``start``."""
    return slice(start, start + size)


class Pattern:
    """Where a subscript of index expressions points to in an array."""

    __slots__ = ("array", "expressions", "shape")

    def __init__(self, array: np.ndarray, key: tuple[Any, ...]) -> None:
        self.array = array
        self.expressions = tuple(
            Affine(int(item), (), ()) if _is_integer(item) else item for item in key
        )
        if len(key) != array.ndim:
            what = f"{len(key)} indices for a tensor of shape {array.shape}"
            rules.broken("mixed_indexing", what, always=True)
        self.shape = np.broadcast_shapes(*(e.shape for e in self.expressions))

    def view(self, rectangle: Rectangle | None = None) -> np.ndarray | None:
        """Return a view of the addressed elements, or None if none is possible."""
        shape, expressions = self.shape, self.expressions
        if not all(isinstance(e, Affine) for e in expressions):
            return None
        if rectangle is not None:
            expressions = tuple(e.within(rectangle) for e in expressions)
            shape = tuple(limit.stop - limit.start for limit in rectangle)
            if 0 in shape:
                return np.empty(shape, self.array.dtype)
        for expression, size in zip(expressions, self.array.shape, strict=True):
            low, high = expression.bounds()
            if low < 0 or high >= size:
                return None
        return _strided(self.array, expressions, shape)

    def indices(self, region: Region = None) -> tuple[np.ndarray, ...]:
        """Return an integer array an axis for the region; check the bounds."""
        arrays = [
            np.broadcast_to(e.array() if isinstance(e, Affine) else e, self.shape)
            for e in self.expressions
        ]
        if region is not None:
            arrays = [array[region] for array in arrays]
        for axis, (array, size) in enumerate(
            zip(arrays, self.array.shape, strict=True)
        ):
            if array.size and (array.min() < 0 or array.max() >= size):
                what = (
                    f"axis {axis} of a tensor of shape {self.array.shape} was indexed "
                    f"from {array.min()} to {array.max()}"
                )
                rules.broken("out_of_bounds", what, always=True)
        return tuple(arrays)


def _strided(
    array: np.ndarray, expressions: tuple[Affine, ...], shape: Shape
) -> np.ndarray:
    slices = _slices(expressions, shape)
    if slices is not None:
        return array[slices]
    origin = array[tuple(slice(e.offset, None) for e in expressions)]
    strides = [0] * len(shape)
    for expression, step in zip(expressions, array.strides, strict=True):
        for axis, coefficient in enumerate(expression._aligned(len(shape))):
            strides[axis] += coefficient * step
    return as_strided(origin, shape, strides)


def _slices(expressions: tuple[Affine, ...], shape: Shape) -> Rectangle | None:
    """Return plain slices if dimension k moves with axis k only, else None."""
    if len(expressions) != len(shape):
        return None
    slices = []
    for axis, (expression, size) in enumerate(zip(expressions, shape, strict=True)):
        coefficients = expression._aligned(len(shape))
        step, start = coefficients[axis], expression.offset
        if any(c for a, c in enumerate(coefficients) if a != axis and shape[a] > 1):
            return None
        if size == 1:
            slices.append(slice(start, start + 1))
        elif step > 0 and expression.shape[axis - len(shape)] == size:
            slices.append(slice(start, start + step * (size - 1) + 1, step))
        else:
            return None
    return tuple(slices)


def basic(array: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    """Index with integers, slices and Ellipsis; unlike NumPy, never clip a slice."""
    if Ellipsis in key:
        position = key.index(Ellipsis)
        fill = (slice(None),) * (array.ndim - len(key) + 1)
        key = key[:position] + fill + key[position + 1 :]
    for axis, (item, size) in enumerate(zip(key, array.shape, strict=False)):
        _check_axis(axis, item, size, array.shape)
    if len(key) > array.ndim:
        what = f"{len(key)} indices for a tensor of shape {array.shape}"
        rules.broken("out_of_bounds", what, always=True)
    return array[tuple(_plain(item) for item in key)]


def _plain(item: Any) -> Any:
    return item if isinstance(item, slice) else slice(int(item), int(item) + 1 or None)


def _check_axis(axis: int, item: Any, size: int, shape: Shape) -> None:
    if isinstance(item, slice):
        start, stop = _start(item), item.stop
        outside = start > size or (stop is not None and int(stop) > size)
    else:
        outside = not -size <= int(item) < size
    if outside:
        what = f"axis {axis} of a tensor of shape {shape} was indexed with {item}"
        rules.broken("out_of_bounds", what, always=not isinstance(item, slice))

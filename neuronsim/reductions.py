"""`nl`'s reductions and shape changes, composed of instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from neuronsim import dtypes, instructions
from neuronsim.elementwise import binary, unary
from neuronsim.engine import Out, Step, execute
from neuronsim.index import Mask
from neuronsim.movement import nc_matmul, nc_transpose
from neuronsim.operations import OPERATIONS
from neuronsim.tile import Tile


def _fold(name: str, operation: str) -> Callable[..., Tile]:
    def reduction(
        x: Tile,
        axis: Any,
        *,
        dtype: Any = None,
        mask: Mask | None = None,
        keepdims: bool = False,
    ) -> Tile:
        op, out = OPERATIONS[operation], Out(None, dtype, mask)
        return instructions.tensor_reduce(out, op, x, axis, keepdims=keepdims)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"Fold {operation} over the last free axes of a tile."
    return reduction


sum = _fold("sum", "add")
prod = _fold("prod", "multiply")
max = _fold("max", "maximum")
min = _fold("min", "minimum")


def all(x: Tile, axis: Any, *, dtype: Any = None, mask: Mask | None = None) -> Tile:
    """Whether all elements along the last free axes are true."""
    out = Out(None, dtypes.BOOL if dtype is None else dtype, mask)
    return instructions.tensor_reduce(out, OPERATIONS["logical_and"], x, axis)


def mean(
    x: Tile,
    axis: Any,
    *,
    dtype: Any = None,
    mask: Mask | None = None,
    keepdims: bool = False,
) -> Tile:
    """Arithmetic mean along the last free axes: a sum, then a multiplication."""
    count = math.prod(x.shape[int(a)] for a in np.atleast_1d(axis))
    total = sum(x, axis, dtype=dtypes.FLOAT32, mask=mask, keepdims=keepdims)
    return binary(
        OPERATIONS["multiply"], total, 1.0 / count, Out(None, dtype or x.dtype)
    )


def var(x: Tile, axis: Any, *, dtype: Any = None, mask: Mask | None = None) -> Tile:
    """Variance along the last free axes: mean of the squared distance to the mean."""
    centre = mean(x, axis, dtype=dtypes.FLOAT32, mask=mask, keepdims=True)
    distance = binary(
        OPERATIONS["subtract"], x, centre, Out(None, dtypes.FLOAT32, mask)
    )
    square = unary(OPERATIONS["square"], distance, Out(None, None, mask))
    return mean(square, axis, dtype=dtype or x.dtype, mask=mask)


def broadcast_to(src: Tile, *, shape: Any) -> Tile:
    """Repeat a tile's dimensions of size 1 to a shape.

    A free dimension is read with stride 0 and costs nothing. The partition dimension
    needs an instruction; a matmul by ones is assumed, which AWS does not document.
    """
    target = tuple(int(size) for size in shape)
    wide = np.broadcast_to(src.read_view(), (src.shape[0], *target[1:]))
    if target[0] == src.shape[0]:
        return Tile(src.storage, wide)
    step = Step("Tensor", "nc_matmul", ("broadcast",))
    return execute(
        Out(),
        step,
        (src,),
        lambda values: np.broadcast_to(values, target),
        src.dtype,
        shape=src.shape,
        result=target,
        defined=lambda known: np.broadcast_to(known, target),
    )


def static_cast(value: Tile, dtype: Any, *, mask: Mask | None = None) -> Tile:
    """Convert a tile to another dtype."""
    return instructions.tensor_copy(Out(None, dtype, mask), value)


def copy(src: Tile, *, dtype: Any = None, mask: Mask | None = None) -> Tile:
    """Copy a tile."""
    return instructions.tensor_copy(Out(None, dtype, mask), src)


copy.operation = OPERATIONS["copy"]  # type: ignore[attr-defined]


def expand_dims(data: Tile, axis: int) -> Tile:
    """Insert a dimension of size 1."""
    return data.expand_dims(axis)


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False) -> Tile:
    """``x @ y`` (or ``x.T @ y``) on the Tensor engine; the result is in PSUM.

    The engine takes x with the contraction on its partitions; without ``transpose_x``
    it is transposed first, which is one more matmul and a copy.
    """
    if not transpose_x:
        x = instructions.tensor_copy(Out(), nc_transpose(Out(), x))
    return nc_matmul(Out(), x, y)


def transpose(x: Tile, *, dtype: Any = None) -> Tile:
    """Swap partition and free dimension."""
    return nc_transpose(Out(None, dtype), x)


def _method_broadcast(x: Tile, *shape: Any) -> Tile:
    """Repeat dimensions of size 1; see `broadcast_to`."""
    return broadcast_to(x, shape=shape[0] if len(shape) == 1 else shape)


Tile.broadcast_to = _method_broadcast  # type: ignore[attr-defined]
Tile.astype = static_cast  # type: ignore[attr-defined]

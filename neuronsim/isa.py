"""`neuronxcc.nki.isa` of generation 1 (SDK 2.20 to 2.28), after AWS's signatures.

Every function returns a new tile and takes ``dtype=`` and ``mask=``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from neuronsim import instructions as _core
from neuronsim import movement as _movement
from neuronsim.engine import Out as _Out
from neuronsim.index import Affine, Mask
from neuronsim.instructions import engine, reduce_cmd
from neuronsim.names import missing as _missing
from neuronsim.scan import tensor_tensor_scan as _scan
from neuronsim.tile import Tile


def _returning(core: Callable[..., Tile]) -> Callable[..., Tile]:
    """Turn an instruction into a function that returns a new tile."""

    def public(*args: Any, dtype: Any = None, mask: Any = None, **named: Any) -> Tile:
        return core(_Out(None, dtype, mask), *args, **named)

    parameters = list(inspect.signature(core).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter(name, keyword, default=None) for name in ("dtype", "mask")
    ]
    public.__name__ = public.__qualname__ = core.__name__
    public.__doc__ = core.__doc__
    public.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return public


activation = _returning(_core.activation)
activation_reduce = _returning(_core.activation_reduce)
nc_matmul = _returning(_movement.nc_matmul)
nc_transpose = _returning(_movement.nc_transpose)
reciprocal = _returning(_core.reciprocal)
scalar_tensor_tensor = _returning(_core.scalar_tensor_tensor)
tensor_copy = _returning(_core.tensor_copy)
tensor_reduce = _returning(_core.tensor_reduce)
tensor_scalar = _returning(_core.tensor_scalar)
tensor_tensor = _returning(_core.tensor_tensor)
tensor_tensor_scan = _returning(_scan)


def memset(
    shape: Any,
    value: Any,
    dtype: Any,
    *,
    mask: Mask | None = None,
    engine: Any = engine.unknown,
) -> Tile:
    """Make a tile filled with a constant."""
    return _core.memset(_Out(None, dtype, mask), tuple(shape), value, engine)


def iota(expr: Affine, dtype: Any, *, mask: Mask | None = None) -> Tile:
    """Make a tile of the values of an index expression, on GpSimd."""
    return _core.iota(_Out(None, dtype, mask), expr)


def dma_copy(*, dst: Tile, src: Tile, mask: Mask | None = None) -> None:
    """Copy between HBM and SBUF."""
    _movement.dma_copy(dst, src, mask)


def tensor_copy_predicated(
    *,
    src: Any,
    dst: Tile,
    predicate: Tile,
    reverse_pred: bool = False,
    mask: Any = None,
) -> None:
    """Copy ``src`` to ``dst`` where ``predicate`` is not zero."""
    _core.tensor_copy_predicated(_Out(dst, None, mask), src, predicate, reverse_pred)


tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

__all__ = [
    "activation",
    "activation_reduce",
    "dma_copy",
    "engine",
    "gpsimd_engine",
    "iota",
    "memset",
    "nc_matmul",
    "nc_transpose",
    "reciprocal",
    "reduce_cmd",
    "scalar_engine",
    "scalar_tensor_tensor",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_engine",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_tensor",
    "tensor_tensor_scan",
    "unknown_engine",
    "vector_engine",
]

__getattr__ = _missing("neuronxcc.nki.isa", __all__)

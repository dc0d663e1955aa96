"""`nki.isa`, generation 2: the destination comes first and decides the dtype."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from neuronsim import instructions as _core
from neuronsim import movement as _movement
from neuronsim.engine import Out as _Out
from neuronsim.index import Affine
from neuronsim.instructions import engine, reduce_cmd
from neuronsim.names import missing as _missing
from neuronsim.tile import Tile


def _destination_first(core: Callable[..., Tile]) -> Callable[..., None]:
    """Turn an instruction into a function that writes to its first argument."""

    def public(dst: Tile, *args: Any, name: str | None = None, **named: Any) -> None:
        core(_Out(dst), *args, **named)

    parameter = inspect.Parameter
    parameters = [parameter("dst", parameter.POSITIONAL_OR_KEYWORD)]
    parameters += list(inspect.signature(core).parameters.values())[1:]
    parameters += [parameter("name", parameter.KEYWORD_ONLY, default=None)]
    public.__name__ = public.__qualname__ = core.__name__
    public.__doc__ = core.__doc__
    public.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return public


activation = _destination_first(_core.activation)
activation_reduce = _destination_first(_core.activation_reduce)
nc_matmul = _destination_first(_movement.nc_matmul)
nc_transpose = _destination_first(_movement.nc_transpose)
reciprocal = _destination_first(_core.reciprocal)
scalar_tensor_tensor = _destination_first(_core.scalar_tensor_tensor)
tensor_copy = _destination_first(_core.tensor_copy)
tensor_copy_predicated = _destination_first(_core.tensor_copy_predicated)
tensor_reduce = _destination_first(_core.tensor_reduce)
tensor_scalar = _destination_first(_core.tensor_scalar)
tensor_tensor = _destination_first(_core.tensor_tensor)


def memset(
    dst: Tile, value: Any, engine: Any = engine.unknown, name: str | None = None
) -> None:
    """Fill a tile with a constant."""
    _core.memset(_Out(dst), dst.shape, value, engine)


def iota(
    dst: Tile,
    pattern: list[list[int]],
    offset: int = 0,
    channel_multiplier: int = 0,
    name: str | None = None,
) -> None:
    """Write ``offset + partition * channel_multiplier + Σ step · i``, on GpSimd.

    Parameters
    ----------
    pattern : list of [step, count]
        Up to four free dimensions, the innermost last.
    """
    steps, counts = zip(*pattern, strict=True)
    shape = (dst.shape[0], *counts)
    _core.iota(_Out(dst), Affine(offset, (channel_multiplier, *steps), shape))


def dma_copy(dst: Tile, src: Tile, name: str | None = None) -> None:
    """Copy between HBM and SBUF in any direction."""
    _movement.dma_copy(dst, src)


__all__ = [
    "activation",
    "activation_reduce",
    "dma_copy",
    "engine",
    "iota",
    "memset",
    "nc_matmul",
    "nc_transpose",
    "reciprocal",
    "reduce_cmd",
    "scalar_tensor_tensor",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_tensor",
]

__getattr__ = _missing("nki.isa", __all__)

"""`nki.language`, generation 2: no index expressions, no masks, no division."""

from __future__ import annotations

from typing import Any

from neuronsim import creation as _creation
from neuronsim import dtypes as _dtypes
from neuronsim.creation import (
    affine_range,
    device_print,
    empty_like,
    hbm,
    num_programs,
    private_hbm,
    program_id,
    program_ndim,
    psum,
    sbuf,
    sequential_range,
    shared_hbm,
    static_range,
    tile_size,
    zeros_like,
)
from neuronsim.elementwise import function as _function
from neuronsim.index import ds
from neuronsim.movement import load as _load
from neuronsim.movement import store as _store
from neuronsim.names import missing as _missing
from neuronsim.operations import OPERATIONS as _OPERATIONS
from neuronsim.reductions import copy, expand_dims
from neuronsim.tile import Tile as _Tile

_elementwise = [name for name in (*_OPERATIONS, "where") if name not in ("copy", "mod")]
globals().update({name: _function(name, masks=False) for name in _elementwise})
globals().update(_dtypes.NAMES)


def load(src: _Tile, dtype: Any = None) -> _Tile:
    """Load a part of an HBM tensor into a new tile in SBUF."""
    return _load(src, dtype=dtype)


def store(dst: _Tile, value: _Tile) -> None:
    """Store a tile to a part of an HBM tensor."""
    _store(dst, value)


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "") -> _Tile:
    """Make a tensor that has not been written; SBUF unless a buffer is given."""
    return _creation.ndarray(shape, dtype, buffer=buffer, name=name)


def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str = "") -> _Tile:
    """Make a tensor of zeros."""
    return _creation.zeros(shape, dtype, buffer=buffer, name=name)


def ones(shape: Any, dtype: Any, buffer: Any = None, name: str = "") -> _Tile:
    """Make a tensor of ones."""
    return _creation.ones(shape, dtype, buffer=buffer, name=name)


def full(
    shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = ""
) -> _Tile:
    """Make a tensor filled with a value."""
    return _creation.full(shape, fill_value, dtype, buffer=buffer, name=name)


__all__ = [
    *_elementwise,
    *_dtypes.NAMES,
    "affine_range",
    "copy",
    "device_print",
    "ds",
    "empty_like",
    "expand_dims",
    "full",
    "hbm",
    "load",
    "ndarray",
    "num_programs",
    "ones",
    "private_hbm",
    "program_id",
    "program_ndim",
    "psum",
    "sbuf",
    "sequential_range",
    "shared_hbm",
    "static_range",
    "store",
    "tile_size",
    "zeros",
    "zeros_like",
]

__getattr__ = _missing("nki.language", __all__)

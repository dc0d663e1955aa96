"""`neuronxcc.nki.language`, generation 1 (SDK 2.20 to 2.28), with AWS's signatures."""

from neuronsim import dtypes as _dtypes
from neuronsim.creation import (
    affine_range,
    device_print,
    empty_like,
    full,
    hbm,
    ndarray,
    num_programs,
    ones,
    par_dim,
    private_hbm,
    program_id,
    program_ndim,
    psum,
    sbuf,
    sequential_range,
    shared_hbm,
    static_range,
    tile_size,
    zeros,
    zeros_like,
)
from neuronsim.elementwise import function as _function
from neuronsim.index import arange, ds, mgrid
from neuronsim.movement import load, store
from neuronsim.names import missing as _missing
from neuronsim.operations import OPERATIONS as _OPERATIONS
from neuronsim.reductions import (
    all,
    broadcast_to,
    copy,
    expand_dims,
    matmul,
    max,
    mean,
    min,
    prod,
    static_cast,
    sum,
    transpose,
    var,
)

_elementwise = [name for name in (*_OPERATIONS, "divide", "where") if name != "copy"]
globals().update({name: _function(name, masks=True) for name in _elementwise})
globals().update(_dtypes.NAMES)

__all__ = [
    *_elementwise,
    *_dtypes.NAMES,
    "affine_range",
    "all",
    "arange",
    "broadcast_to",
    "copy",
    "device_print",
    "ds",
    "empty_like",
    "expand_dims",
    "full",
    "hbm",
    "load",
    "matmul",
    "max",
    "mean",
    "mgrid",
    "min",
    "ndarray",
    "num_programs",
    "ones",
    "par_dim",
    "private_hbm",
    "prod",
    "program_id",
    "program_ndim",
    "psum",
    "sbuf",
    "sequential_range",
    "shared_hbm",
    "static_cast",
    "static_range",
    "store",
    "sum",
    "tile_size",
    "transpose",
    "var",
    "zeros",
    "zeros_like",
]

__getattr__ = _missing("neuronxcc.nki.language", __all__)

"""The NeuronCore's data types: names, promotion, and conversion as the engines do it.

Promotion follows "NKI Type Promotion" of the NKI API's common fields (SDK 2.26.1).
Engines compute in float32 and convert on the way in and out.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from neuronsim import rules

FLOATS = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
INTEGERS = {
    name: np.dtype(name)
    for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32")
}
BOOL = np.dtype(np.bool_)
NAMES = FLOATS | INTEGERS | {"bool_": BOOL}

FLOAT32 = FLOATS["float32"]
INT32 = INTEGERS["int32"]
UINT8 = INTEGERS["uint8"]

_supported = frozenset(NAMES.values())
_dtype_class = type(FLOAT32)
_integers = frozenset(INTEGERS.values()) | {BOOL}


def resolve(dtype: Any) -> np.dtype:
    """Return the NumPy dtype of an nl dtype, a NumPy type or a name; check it."""
    if type(dtype) is _dtype_class and dtype in _supported:
        return dtype
    found = NAMES.get(dtype) if isinstance(dtype, str) else None
    found = found or np.dtype(dtype)
    if found not in _supported:
        rules.broken("dtype", f"dtype {found} was asked for", always=True)
    return found


def is_integer(dtype: np.dtype) -> bool:
    """Whether a dtype holds integers or booleans."""
    return dtype in _integers


def of_scalar(value: Any) -> np.dtype:
    """Return the dtype of a scalar: Python's are weakly typed, NumPy's keep theirs.

    bool → uint8, int → int32, float → float32.
    """
    if isinstance(value, np.generic):
        return resolve(value.dtype)
    if isinstance(value, bool):
        return UINT8
    return INT32 if isinstance(value, int) else FLOAT32


@cache
def promote(first: np.dtype, second: np.dtype) -> np.dtype:
    """Return the dtype of an operation on two dtypes.

    Float with integer gives the float; otherwise the wider of the two or the
    narrowest type that holds both ranges; int32 with uint32 gives float32.
    """
    if first == second:
        return first
    if is_integer(first) != is_integer(second):
        return second if is_integer(first) else first
    if is_integer(first):
        wide = np.promote_types(*(UINT8 if d == BOOL else d for d in (first, second)))
        return wide if wide.itemsize <= 4 else FLOAT32
    return _wider_float(first, second)


def _wider_float(first: np.dtype, second: np.dtype) -> np.dtype:
    small, large = sorted((first, second), key=lambda dtype: dtype.itemsize)
    if small.itemsize < large.itemsize:
        return large
    return FLOAT32 if large.itemsize == 2 else FLOATS["bfloat16"]


def to_float32(values: np.ndarray) -> np.ndarray:
    """Widen to float32, the type the engines compute in; float32 is not copied."""
    return values if values.dtype == FLOAT32 else values.astype(np.float32)


def convert(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert a result to the dtype of its destination.

    Float to integer rounds to the nearest even number and saturates; AWS does not
    document the rounding, so do not rely on it.
    """
    if values.dtype == dtype:
        return values
    if dtype == BOOL or is_integer(values.dtype) or not is_integer(dtype):
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    rounded = np.clip(np.rint(values.astype(np.float64)), limits.min, limits.max)
    return np.nan_to_num(rounded).astype(dtype)

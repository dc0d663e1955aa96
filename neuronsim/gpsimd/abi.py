"""The C ABI of an operator's libraries, as ctypes sees it; mirrors runtime.hpp."""

import ctypes as c

import torch

DTYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.float16: 5,
    torch.float32: 6,
    torch.bfloat16: 15,
}
TORCH_DTYPES = {code: dtype for dtype, code in DTYPES.items()}
SCHEMA = {"T": "Tensor", "S": "Scalar", "d": "float", "i": "int"}
MAX_DIMS = 8


class Argument(c.Structure):
    _fields_ = [
        ("kind", c.c_int32),
        ("dtype", c.c_int32),
        ("dim", c.c_int64),
        ("sizes", c.c_int64 * MAX_DIMS),
        ("data", c.c_void_p),
        ("number", c.c_double),
        ("integer", c.c_int64),
        ("integral", c.c_int32),
    ]


class Finding(c.Structure):
    _fields_ = [
        ("kind", c.c_char_p),
        ("file", c.c_char_p),
        ("line", c.c_int32),
        ("core", c.c_int32),
        ("first", c.c_int64),
        ("last", c.c_int64),
        ("count", c.c_int64),
        ("tensor", c.c_char * 24),
        ("detail", c.c_char * 232),
        ("frames", c.c_int32),
        ("frame", c.c_uint64 * 24),
    ]


class Write(c.Structure):
    _fields_ = [
        ("core", c.c_int32),
        ("line", c.c_int32),
        ("file", c.c_char_p),
        ("first", c.c_int64),
        ("last", c.c_int64),
    ]


class Counters(c.Structure):
    _fields_ = [
        (name, c.c_uint64)
        for name in (
            "transfers_in",
            "transfers_out",
            "bytes_in",
            "bytes_out",
            "element_accesses",
            "stream_accesses",
            "tcm_peak",
        )
    ]


class Result(c.Structure):
    _fields_ = [
        ("findings", c.POINTER(Finding)),
        ("n_findings", c.c_int64),
        ("writes", c.POINTER(Write)),
        ("n_writes", c.c_int64),
        ("counters", c.POINTER(Counters)),
        ("printed", c.c_void_p),
        ("printed_size", c.c_int64),
        ("coverage_known", c.c_int32),
        ("finished", c.c_int32),
    ]


class Registered(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("kernel", c.c_char_p),
        ("kinds", c.c_char_p),
        ("shape", c.c_void_p),
        ("call_kernel", c.c_void_p),
        ("call_shape", c.c_void_p),
    ]


def open_shape(path: str) -> c.CDLL:
    """Load a shape library: its registrations and shape functions."""
    library = c.CDLL(path)
    library.gpsimd_library.restype = c.c_char_p
    library.gpsimd_operator.restype = c.POINTER(Registered)
    library.gpsimd_shape.argtypes = [
        c.c_int,
        c.POINTER(Argument),
        c.c_int,
        c.POINTER(Argument),
        c.c_char_p,
        c.c_size_t,
    ]
    return library


def open_kernel(path: str) -> c.CDLL:
    """Load a kernel library: the functions the cores run, and the runtime."""
    library = c.CDLL(path)
    library.gpsimd_run.restype = c.c_void_p
    library.gpsimd_run.argtypes = [
        c.c_void_p,
        c.c_void_p,
        c.POINTER(Argument),
        c.c_int,
        c.POINTER(Argument),
        c.c_int,
        c.c_size_t,
        c.POINTER(Result),
    ]
    library.gpsimd_release.argtypes = [c.c_void_p]
    library.gpsimd_release.restype = None
    return library


def tensor(value: torch.Tensor, data: bool) -> Argument:
    """Describe a contiguous CPU tensor, or only the shape of any tensor."""
    argument = Argument(kind=ord("T"), dtype=DTYPES[value.dtype], dim=value.dim())
    argument.sizes[: value.dim()] = [int(size) for size in value.shape]
    if data:
        argument.data = value.data_ptr()
    return argument


def number(kind: str, value: float | int | bool) -> Argument:
    """Describe a Scalar, double or int64_t."""
    integral = isinstance(value, int)
    integer = int(value) if integral else 0
    return Argument(
        kind=ord(kind), number=float(value), integer=integer, integral=integral
    )

"""Custom C++ operators of the GpSimd engine, built and checked on any host.

An unmodified Neuron operator (kernel, shape function, ``NEURON_LIBRARY``) compiles
with the system's compiler against our own headers and runs on 8 threads as 8 cores.
A sanitiser, on by default, finds what a device would not tell.
"""

from neuronsim.gpsimd.errors import ArgumentError, BuildError, GpSimdError
from neuronsim.gpsimd.findings import Coverage, Finding, Report, SanitizerError
from neuronsim.gpsimd.library import Library
from neuronsim.gpsimd.model import check_model
from neuronsim.gpsimd.register import load, load_library

__all__ = [
    "ArgumentError",
    "BuildError",
    "Coverage",
    "Finding",
    "GpSimdError",
    "Library",
    "Report",
    "SanitizerError",
    "check_model",
    "load",
    "load_library",
]

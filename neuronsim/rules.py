"""What the hardware or the language forbids, as one table with one switch.

Every violation raises a `RuleError` that names the rule, the shape that broke it, the
limit, what to do, and the line of the kernel's own source. To see what a kernel would
do without the rules::

    with rules.off():
        nki.simulate_kernel(kernel, a, b)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ARCH = "nki/guides/architecture/trainium_inferentia2_arch.rst"
API = "nki/api (SDK 2.26.1)"


@dataclass(frozen=True)
class Rule:
    """One constraint: its name, what it limits, and how a kernel keeps it."""

    name: str
    limit: str
    remedy: str
    source: str


_TABLE = (
    Rule(
        "partitions",
        "a tile has at most {partitions} partitions",
        "loop over the first dimension in tiles of nl.tile_size.pmax rows",
        ARCH,
    ),
    Rule(
        "start_partition",
        "over 64 partitions start at 0, 33 to 64 at 0 or 64, up to 32 at 0, 32, 64, 96",
        "copy the rows to a tile that starts where an engine can read",
        ARCH,
    ),
    Rule(
        "partition_broadcast",
        "engines process each partition by itself; rows are not repeated implicitly",
        "repeat it explicitly with .broadcast_to((partitions, n)), or load it so",
        API,
    ),
    Rule(
        "partition_reduce",
        "a reduction runs along free dimensions, within a partition",
        "transpose first, or multiply by a vector of ones with nc_matmul",
        API,
    ),
    Rule(
        "free_size",
        "an instruction touches at most {free_limit_sbuf} elements a partition in "
        "SBUF and {free_limit_psum} in PSUM",
        "split the free dimension",
        ARCH,
    ),
    Rule(
        "dimensions",
        "a tile has a partition dimension and 1 to 4 free dimensions",
        "reshape, or index with nl.arange(n)[:, None] and nl.arange(m)[None, :]",
        ARCH,
    ),
    Rule(
        "empty",
        "an instruction needs at least one element",
        "skip the instruction when there is nothing to do",
        "neuronsim",
    ),
    Rule(
        "sbuf_capacity",
        "{sbuf_bytes_per_partition} bytes a partition in SBUF",
        "use smaller tiles, or let tiles go out of use before making new ones",
        ARCH,
    ),
    Rule(
        "psum_capacity",
        "{psum_banks} banks of {psum_bank_bytes} bytes a partition in PSUM",
        "copy results to SBUF so that their banks become free",
        ARCH,
    ),
    Rule(
        "psum_bank",
        "a matmul writes within one PSUM bank, {psum_bank_bytes} bytes a partition",
        "use at most nl.tile_size.psum_fmax float32 columns",
        ARCH,
    ),
    Rule(
        "matmul_size",
        "stationary at most {partitions} x {matmul_stationary_limit}, moving at most "
        "{partitions} x {matmul_moving_limit}, the same contraction size",
        "tile the matrices and accumulate in PSUM",
        ARCH,
    ),
    Rule(
        "matmul_dtype",
        "floats, and float32 only with float32",
        "convert one operand with nisa.tensor_copy",
        API,
    ),
    Rule(
        "transpose_size",
        "{partitions} x {partitions} on the Tensor engine, 32 x 32 on Vector",
        "transpose in blocks",
        API,
    ),
    Rule(
        "same_shape",
        "the operands have equal partitions and equal elements a partition",
        "slice or broadcast the operands to one shape",
        API,
    ),
    Rule(
        "scalar_operand",
        "a scalar operand is a number or a tile of one element a partition",
        "use tensor_tensor for two full tiles",
        API,
    ),
    Rule(
        "activation_bias",
        "on NeuronCore-v2 the bias of an activation is a tile of one element a "
        "partition",
        "fill one with nisa.memset or nl.full",
        API,
    ),
    Rule(
        "dtype",
        "float32, bfloat16, float16, float8_e4m3, float8_e5m2, bool and 8-, 16- and "
        "32-bit integers",
        "convert on the host, for example x.astype(np.float32)",
        API,
    ),
    Rule(
        "bitwise_dtype",
        "bitwise operations take integers",
        "use logical_and, logical_or, or an integer dtype",
        API,
    ),
    Rule(
        "memory",
        "engines compute in SBUF and PSUM; HBM is reached by nl.load, nl.store and "
        "nisa.dma_copy",
        "load it into SBUF first, store it to HBM at the end",
        ARCH,
    ),
    Rule(
        "engine_memory",
        "GpSimd cannot reach PSUM, Tensor reads SBUF and writes PSUM",
        "choose another engine, or copy the tile with the Vector or Scalar engine",
        ARCH,
    ),
    Rule(
        "engine_operation",
        "each instruction runs on the engines that AWS documents for it",
        "leave the engine out, or choose one of those named",
        API,
    ),
    Rule(
        "out_of_bounds",
        "an index lies inside the tensor",
        "limit it with mask=(i_p < rows) & (i_f < columns), or with a shorter slice",
        API,
    ),
    Rule(
        "mixed_indexing",
        "one subscript holds either slices or index expressions, not both",
        "write the slice as an index expression, for example nl.arange(n)[None, :]",
        API,
    ),
    Rule(
        "unwritten",
        "memory is written before it is read",
        "write it first (nl.zeros, nl.load, nisa.memset), or mask the read",
        "neuronsim",
    ),
    Rule(
        "immutable_argument",
        "a kernel under nki.jit returns its outputs and leaves its arguments alone",
        "store to an nl.ndarray(..., buffer=nl.shared_hbm) and return it; for an "
        "output argument use nki.trace (SDK 2.20) or annotate nt.mutable_tensor",
        API,
    ),
    Rule(
        "output",
        "a kernel returns tensors in HBM that all its programs share",
        "allocate the output with buffer=nl.shared_hbm and store to it",
        API,
    ),
    Rule(
        "argument",
        "a kernel takes arrays of one or more dimensions in the CPU's memory",
        "reshape a 0-d array to (1, 1) or pass a Python number",
        API,
    ),
    Rule(
        "loop_index",
        "the index of affine_range and sequential_range has no value while compiling",
        "use a mask for the remainder, or nl.static_range",
        API,
    ),
    Rule(
        "condition",
        "tiles and masks have no value while compiling",
        "choose elements with nl.where, or rows and columns with mask=",
        API,
    ),
    Rule(
        "block_dimension",
        "the partition dimension comes first; block dimensions ended with SDK 2.25",
        "use a Python list of tiles, or move the blocks to the free dimension",
        API,
    ),
    Rule(
        "outside_kernel",
        "tensors live inside a kernel",
        "call the kernel through nki.simulate_kernel, nki.jit or nki.simulate",
        API,
    ),
)

RULES = {rule.name: rule for rule in _TABLE}

_PACKAGE = f"{Path(__file__).parent}{os.sep}"
_enforced: ContextVar[bool] = ContextVar("enforced", default=True)


class RuleError(Exception):
    """A kernel broke a rule of the NeuronCore or of NKI.

    Attributes
    ----------
    rule : Rule
        The row of `RULES`.
    what : str
        What the kernel did, with the shapes involved.
    source : tuple of (str, int)
        File and line in the kernel's own source.
    """

    def __init__(self, rule: Rule, what: str, limit: str, source: tuple[str, int]):
        self.rule = rule
        self.what = what
        self.limit = limit
        self.source = source
        super().__init__(
            f"{source[0]}:{source[1]}: rule {rule.name}: {what}. "
            f"Limit: {limit}. What to do: {rule.remedy}."
        )


@contextmanager
def off() -> Iterator[None]:
    """Let kernels break the rules that the simulator can compute without."""
    token = _enforced.set(False)
    try:
        yield
    finally:
        _enforced.reset(token)


def enforced() -> bool:
    """Whether rules are being enforced (the default)."""
    return _enforced.get()


def broken(name: str, what: str, hardware: object = None, always: bool = False) -> None:
    """Raise the `RuleError` of rule ``name`` unless rules are off.

    Parameters
    ----------
    name : str
        A key of `RULES`.
    what : str
        What the kernel did, with shapes.
    hardware : NeuronCore, optional
        Fills the numbers of the limit; NeuronCore-v2 if not given.
    always : bool
        There is no sensible way to go on: raise even when rules are off.
    """
    if not (always or _enforced.get()):
        return
    rule = RULES[name]
    raise RuleError(rule, what, _limit(rule, hardware), kernel_line())


def _limit(rule: Rule, hardware: object) -> str:
    if hardware is None:
        from neuronsim.hardware import NEURONCORE_V2 as hardware  # type: ignore
    return rule.limit.format_map(vars(hardware))


def kernel_frame() -> FrameType:
    """Return the innermost frame outside this package: the kernel's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def kernel_line() -> tuple[str, int]:
    """Return file and line of the statement of the kernel that is running."""
    frame = kernel_frame()
    return frame.f_code.co_filename, frame.f_lineno

"""Tensors that a kernel makes, iterators, grids, printing: `nl` without arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuronsim import dtypes, instructions, rules
from neuronsim.engine import Out
from neuronsim.hardware import NEURONCORE_V2
from neuronsim.index import Mask
from neuronsim.run import current, loop
from neuronsim.storage import HBM, PSUM, SBUF
from neuronsim.tile import Tile, allocate


@dataclass(frozen=True)
class Buffer:
    """A memory that `nl.ndarray(..., buffer=...)` can name."""

    name: str
    kind: str


sbuf = Buffer("sbuf", SBUF)
psum = Buffer("psum", PSUM)
private_hbm = Buffer("private_hbm", HBM)
hbm = Buffer("hbm", HBM)
shared_hbm = Buffer("shared_hbm", HBM)


class PartitionDimension(int):
    """A dimension marked by `nl.par_dim` as the partition dimension."""


par_dim = PartitionDimension


def _checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(isinstance(size, PartitionDimension) for size in sizes[1:]):
        rules.broken("block_dimension", f"a tensor of shape {sizes}", always=True)
    return tuple(int(size) for size in sizes)


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    """Make a tensor that has not been written; SBUF unless a buffer is given.

    Parameters
    ----------
    shape : int or sequence of int
        Partition dimension first, on chip.
    dtype : nl or NumPy dtype
    buffer : nl.sbuf, nl.psum, nl.hbm, nl.private_hbm or nl.shared_hbm
    name : str
        Shown in traces and errors.

    Raises
    ------
    RuleError
        If the shape does not fit into the memory, or the dtype is none of NKI's.
    """
    buffer = buffer or sbuf
    sizes, kind = _checked_shape(shape), dtypes.resolve(dtype)
    if buffer is shared_hbm:
        return _shared(sizes, kind, name)
    return allocate(sizes, kind, buffer.kind, name)


def _shared(shape: tuple[int, ...], dtype: np.dtype, name: str) -> Tile:
    """Return the n-th shared tensor: the same one for every program of the grid."""
    run = current()
    position = run.shared_count
    run.shared_count += 1
    if position == len(run.shared):
        run.shared.append(allocate(shape, dtype, HBM, name))
    return run.shared[position]


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any,
    *,
    buffer: Any = None,
    name: str = "",
    mask: Mask | None = None,
) -> Tile:
    """Make a tensor filled with a value; on chip this is a memset."""
    tensor = ndarray(shape, dtype, buffer=buffer, name=name)
    if tensor.buffer == HBM:
        tensor.write(np.full(tensor.shape, fill_value, tensor.dtype))
        return tensor
    return instructions.memset(Out(tensor, mask=mask), tensor.shape, fill_value)


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    """Make a tensor of zeros."""
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    """Make a tensor of ones."""
    return full(shape, 1, dtype, buffer=buffer, name=name)


def zeros_like(
    x: Tile, dtype: Any = None, *, buffer: Any = None, name: str = ""
) -> Tile:
    """Make a tensor of zeros with the shape, dtype and memory of another."""
    return zeros(x.shape, dtype or x.dtype, buffer=buffer or _of(x), name=name)


def empty_like(
    x: Tile, dtype: Any = None, *, buffer: Any = None, name: str = ""
) -> Tile:
    """Make an unwritten tensor with the shape, dtype and memory of another."""
    return ndarray(x.shape, dtype or x.dtype, buffer=buffer or _of(x), name=name)


def _of(x: Tile) -> Buffer:
    return {SBUF: sbuf, PSUM: psum, HBM: shared_hbm}[x.buffer]


def affine_range(*bounds: int) -> Iterator[int]:
    """Loop whose iterations do not depend on each other; overlapped on the chip."""
    return loop("affine", *bounds, symbolic=True)


def sequential_range(*bounds: int) -> Iterator[int]:
    """Loop whose iterations depend on earlier ones."""
    return loop("sequential", *bounds, symbolic=True)


def static_range(*bounds: int) -> Iterator[int]:
    """Loop unrolled while compiling; its index is an ordinary number."""
    return loop("static", *bounds, symbolic=False)


def program_id(axis: int) -> int:
    """Return this program's position along an axis of the SPMD grid."""
    return current().program[axis]


def num_programs(axes: int | Sequence[int] | None = None) -> Any:
    """Return the size of the SPMD grid along an axis, along several, or in all."""
    grid = current().grid
    if axes is None:
        return math.prod(grid)
    return grid[axes] if isinstance(axes, int) else tuple(grid[axis] for axis in axes)


def program_ndim() -> int:
    """Return the number of dimensions of the SPMD grid."""
    return len(current().grid)


def device_print(print_prefix: str, x: Any, *, mask: Mask | None = None) -> None:
    """Print a tile, or the part of it that a mask leaves, while simulating."""
    if isinstance(x, Tile):
        region = None if mask is None else mask.region(x.shape)
        values, _ = x.peek(region)
        x = values[region] if isinstance(region, np.ndarray) else values
    print(print_prefix, x)


class tile_size:
    """Limits of tiles, in elements unless the name says otherwise (NeuronCore-v2)."""

    pmax = int(NEURONCORE_V2.partitions)
    psum_fmax = NEURONCORE_V2.psum_bank_bytes // 4  # float32 in one PSUM bank
    gemm_stationary_fmax = int(NEURONCORE_V2.matmul_stationary_limit)
    gemm_moving_fmax = int(NEURONCORE_V2.matmul_moving_limit)
    bn_stats_fmax = int(NEURONCORE_V2.bn_stats_limit)
    total_available_sbuf_size = int(NEURONCORE_V2.sbuf_bytes_per_partition)

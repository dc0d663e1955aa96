"""Instructions that move or multiply: DMA transfers, matmul, transposition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuronsim import dtypes, rules
from neuronsim.engine import Out, Step, execute, record
from neuronsim.index import Mask, Shape
from neuronsim.instructions import chosen
from neuronsim.run import current
from neuronsim.storage import HBM, PSUM, SBUF, Storage
from neuronsim.tile import Tile, allocate, name_of
from neuronsim.trace import active

_DMA = Step("DMA", "dma_copy", ())


def transfer(dst: Tile, src: Tile, mask: Mask | None = None) -> Tile:
    """Copy between HBM and SBUF by DMA, converting the dtype through float32."""
    if PSUM in (dst.buffer, src.buffer):
        rules.broken("memory", f"DMA from {src!r} to {dst!r}, of which one is in PSUM")
    count: int = math.prod(src.shape)
    if math.prod(dst.shape) != count:
        what = f"a transfer from {src!r} to {dst!r}"
        rules.broken("same_shape", what, always=True)
    if dst.buffer == HBM:
        name_of(dst.storage)  # while the kernel's frame, which knows it, is there
    region = None if mask is None else mask.region(src.shape)
    values = dtypes.convert(src.read(region), dst.dtype)
    if mask is None and dst.shape != src.shape:
        values = values.reshape(dst.shape)
    dst.write(values, region)
    if active() is not None and count:
        lead = dst if dst.buffer == SBUF else src
        record(_DMA, [src], [dst], lead.shape, region)
    return dst


def load(src: Tile, *, mask: Mask | None = None, dtype: Any = None) -> Tile:
    """Load a part of an HBM tensor into a new tile in SBUF.

    Parameters
    ----------
    src : Tile
        In HBM; its first dimension becomes the partition dimension.
    mask : Mask, optional
        What to load; the rest of the tile stays unwritten.
    dtype : optional
        Convert on the way; the source's dtype if not given.

    Raises
    ------
    RuleError
        If the source is not in HBM, has over 128 rows, or leaves the tensor.
    """
    if not isinstance(src, Tile):
        raise TypeError(f"nl.load takes a tensor of the kernel, got {type(src)}")
    if src.buffer != HBM:
        rules.broken("memory", f"nl.load of {src!r}")
    kind = dtypes.resolve(src.dtype if dtype is None else dtype)
    region = None if mask is None else mask.region(src.shape)
    if region is not None:
        return transfer(allocate(src.shape, kind, SBUF), src, mask)
    array = np.array(dtypes.convert(src.read(), kind), order="C")
    dst = Tile(Storage(array, SBUF), array)
    if active() is not None:
        record(_DMA, [src], [dst], dst.shape)
    return dst


def store(dst: Tile, value: Any, *, mask: Mask | None = None) -> None:
    """Store a tile to a part of an HBM tensor."""
    if dst.buffer != HBM:
        rules.broken("memory", f"nl.store to {dst!r}")
    if not isinstance(value, Tile) or value.buffer == HBM:
        rules.broken("memory", f"nl.store of {value!r}, which is no tile", always=True)
    transfer(dst, value, mask)


def dma_copy(dst: Tile, src: Tile, mask: Mask | None = None) -> Tile:
    """Copy between HBM and SBUF in any direction."""
    return transfer(dst, src, mask)


def nc_matmul(
    out: Out, stationary: Tile, moving: Tile, accumulate: bool | None = None
) -> Tile:
    """``stationary.T @ moving`` on the Tensor engine, accumulated in fp32 in PSUM.

    Parameters
    ----------
    stationary : Tile
        (K, M) in SBUF, M ≤ 128.
    moving : Tile
        (K, N) in SBUF, N ≤ 512.
    accumulate : bool, optional
        Add to the destination; not given: add if it has been written before.

    Returns
    -------
    Tile
        (M, N) in PSUM.
    """
    shape = _matmul_shape(stationary, moving)

    dst = out.dst
    if accumulate is None:
        accumulate = dst is not None and dst.is_written()

    def compute(weights: np.ndarray, data: np.ndarray) -> np.ndarray:
        first, second = map(dtypes.to_float32, (weights, data))
        product = first.reshape(len(first), -1).T @ second.reshape(len(second), -1)
        product = product.reshape(shape)
        return product + dst.read() if dst is not None and accumulate else product

    step = Step("Tensor", "nc_matmul", ("multiply", "add"))
    result = execute(
        out,
        step,
        (stationary, moving),
        compute,
        dtypes.FLOAT32,
        shape=moving.shape,
        result=shape,
        buffer=PSUM,
        defined=_all_written(stationary, moving),
    )
    if result.buffer != PSUM:
        rules.broken("engine_memory", f"a matmul into {result!r}")
    _check_bank(result)
    return result


def _check_bank(result: Tile) -> None:
    """Check that a matmul's result lies within one PSUM bank."""
    access, size = result.access(), current().hardware.psum_bank_bytes
    if access.first // size != (access.last - 1) // size:
        what = f"a matmul into bytes {access.first} to {access.last} of {result!r}"
        rules.broken("psum_bank", what)


def _all_written(*operands: Tile) -> Any:
    """A sum over partitions spoils every result: its operands must be written."""

    def defined(known: np.ndarray) -> None:
        for operand in operands:
            operand.read()

    return defined


def _matmul_shape(stationary: Tile, moving: Tile) -> Shape:
    hardware = current().hardware
    for operand in (stationary, moving):
        if operand.buffer != SBUF:
            rules.broken("engine_memory", f"a matmul of {operand!r}", hardware)
    rows, columns = stationary.elements, moving.elements
    too_large = (
        rows > hardware.matmul_stationary_limit
        or columns > hardware.matmul_moving_limit
    )
    differ = stationary.shape[0] != moving.shape[0]
    if too_large or differ:
        what = f"a matmul of stationary {stationary.shape} and moving {moving.shape}"
        rules.broken("matmul_size", what, hardware, always=differ)
    wide = {operand.dtype == dtypes.FLOAT32 for operand in (stationary, moving)}
    if len(wide) > 1 or any(
        o.dtype in dtypes.INTEGERS.values() for o in (stationary, moving)
    ):
        what = f"a matmul of {stationary.dtype} and {moving.dtype}"
        rules.broken("matmul_dtype", what, hardware)
    return (rows, *moving.shape[1:])


def nc_transpose(out: Out, data: Tile, engine: Any = "") -> Tile:
    """Swap partition and free dimension: Tensor to 128 × 128, Vector to 32 × 32."""
    where = chosen("nc_transpose", engine)
    limit = 32 if where == "Vector" else current().hardware.partitions
    if max(data.shape[0], data.elements) > limit:
        rules.broken("transpose_size", f"a transpose of {data!r} on the {where} engine")
    shape = (data.elements, data.shape[0])
    return execute(
        out,
        Step(where, "nc_transpose", ()),
        (data,),
        _transposed,
        data.dtype,
        shape=data.shape,
        result=shape,
        defined=_transposed,
        buffer=PSUM if where == "Tensor" else SBUF,
    )


def _transposed(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.reshape(len(values), -1).T)

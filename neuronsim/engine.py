"""How one instruction executes: check operands, read, compute, write, record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuronsim import dtypes, rules
from neuronsim.index import Mask, Region, Shape
from neuronsim.run import current
from neuronsim.storage import HBM, PSUM, SBUF, Storage
from neuronsim.tile import Tile, allocate, name_of, rectangle_shape
from neuronsim.trace import Instruction, active


@dataclass(frozen=True)
class Out:
    """Where a result goes: a given tile, or a new one of this dtype; and a mask."""

    dst: Tile | None = None
    dtype: Any = None
    mask: Mask | None = None

    def resolve(self, default: np.dtype) -> np.dtype:
        """Return the result's dtype."""
        if self.dst is not None:
            return self.dst.dtype
        return default if self.dtype is None else dtypes.resolve(self.dtype)


@dataclass(frozen=True)
class Step:
    """What an instruction is, apart from its operands."""

    engine: str
    operation: str
    alu: tuple[str, ...] = ()


def execute(
    out: Out,
    step: Step,
    operands: Sequence[Any],
    compute: Callable[..., np.ndarray],
    dtype: np.dtype,
    *,
    shape: Shape | None = None,
    result: Shape | None = None,
    buffer: str = SBUF,
    defined: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Tile:
    """Run one instruction of a compute engine.

    Parameters
    ----------
    out : Out
        Destination and mask.
    step : Step
        Engine, operation and ALU functions.
    operands : sequence of Tile or NumPy scalar
        In the order ``compute`` takes them.
    compute : callable
        From the operands' values to the result's.
    dtype : numpy.dtype
        The result's dtype where ``out`` does not decide.
    shape : tuple of int, optional
        What is processed; the operands' common shape if not given.
    result : tuple of int, optional
        Shape of the result if it differs (reductions, matmul).
    buffer : str
        Where a new result is put.
    defined : callable, optional
        From which input elements are written to which results are; needed where
        ``result`` is given and inputs may be partly unwritten.

    Returns
    -------
    Tile
    """
    tiles = [operand for operand in operands if isinstance(operand, Tile)]
    for tile in tiles:
        check_operand(tile, step.engine)
    shape = shape or common_shape(tiles)
    region = None if out.mask is None else out.mask.region(shape)
    inputs = [_read(operand, shape, region, result is None) for operand in operands]
    written = None
    if any(known is not None for _, known in inputs):
        written = _known([known for _, known in inputs], defined)
    answer = compute(*[values for values, _ in inputs])
    left = region if result is None else _kept(region, shape, result)
    kind = out.resolve(dtype)
    dst = deliver(out, answer, result or shape, kind, buffer, left, written)
    if written is not None:
        dst.storage.origin = _origin(tiles)
    if out.dst is not None:
        check_operand(dst, step.engine)
    if active() is not None:
        record(step, tiles, [dst], shape, region)
    return dst


def check_operand(tile: Tile, engine: str) -> None:
    """Check that an engine can reach a tile where it lies."""
    storage = tile.storage
    if storage.buffer == HBM:
        rules.broken("memory", f"{tile!r} was used by the {engine} engine")
    elif storage.buffer == PSUM and engine == "GpSimd":
        rules.broken("engine_memory", f"{tile!r} was used by the GpSimd engine")
    if tile.shape[0] != storage.array.shape[0] and storage.buffer != HBM:
        _check_start(tile)
    if len(tile.shape) > 5:
        rules.broken("dimensions", f"an operand of shape {tile.shape}")


def _check_start(tile: Tile) -> None:
    start, count = tile.access().start_partition, tile.shape[0]
    every = 32 if count <= 32 else 64 if count <= 64 else 128
    if start % every:
        what = f"{tile!r}: {count} partitions from partition {start}"
        rules.broken("start_partition", what)


def common_shape(tiles: Iterable[Tile]) -> Shape:
    """Return the shape that the operands have together; partitions must agree."""
    shapes = [tile.shape for tile in tiles]
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    if len({shape[0] for shape in shapes}) > 1:
        what = f"operands of {' and '.join(map(str, shapes))}"
        rules.broken("partition_broadcast", what, always=True)
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        what = f"operands of {' and '.join(map(str, shapes))}"
        rules.broken("same_shape", what, always=True)
        raise


def _read(operand: Any, shape: Shape, region: Region, elementwise: bool) -> Any:
    """Return an operand's values and which of them are written (None: all)."""
    if not isinstance(operand, Tile):
        return operand, None
    if operand.shape == shape or region is None:
        values, written = operand.peek(region)
        if written is not None and elementwise and operand.shape != shape:
            written = np.broadcast_to(written, shape)
        return values, written
    if not elementwise:
        return operand.peek()
    # a narrower operand: repeat it, then take the region of the whole
    return Tile(operand.storage, np.broadcast_to(operand.read_view(), shape)).peek(
        region
    )


def _known(
    written: Sequence[np.ndarray | None],
    defined: Callable[[np.ndarray], np.ndarray] | None,
) -> np.ndarray:
    """Return which results depend on written elements only."""
    parts = [part for part in written if part is not None]
    if defined is not None:
        return defined(parts[0])
    return np.logical_and.reduce(parts) if len(parts) > 1 else parts[0]


def _origin(tiles: Sequence[Tile]) -> str:
    """Name the tensor that unwritten elements come from."""
    partial = [tile.storage for tile in tiles if tile.storage.written is not None]
    return next((s.origin or name_of(s) for s in partial if s.origin or name_of(s)), "")


def _kept(region: Region, shape: Shape, result: Shape) -> Region:
    """Return the region of a reduction's result."""
    if not isinstance(region, tuple):
        return None
    return tuple(
        limit if size == whole else slice(0, size)
        for limit, whole, size in zip(region, shape, result, strict=False)
    )


def deliver(
    out: Out,
    answer: np.ndarray,
    shape: Shape,
    dtype: np.dtype,
    buffer: str,
    region: Region,
    written: np.ndarray | None = None,
) -> Tile:
    """Store a result in its destination, which is made if there is none."""
    answer = dtypes.convert(answer, dtype)
    if out.dst is None and region is None:
        fresh = answer.base is None and answer.shape == shape
        array = answer if fresh else np.array(np.broadcast_to(answer, shape))
        storage = Storage(array, buffer, written=True if written is None else written)
        return Tile(storage, array)
    dst = allocate(shape, dtype, buffer) if out.dst is None else out.dst
    known = None if written is None else fitted(written, dst, shape, region)
    dst.write(fitted(answer, dst, shape, region), region, known)
    return dst


def fitted(answer: np.ndarray, dst: Tile, shape: Shape, region: Region) -> np.ndarray:
    """Return the values in the destination's shape; the elements must agree."""
    if isinstance(region, tuple):
        return np.broadcast_to(answer, rectangle_shape(region))
    if dst.shape == shape:
        return answer
    if math.prod(dst.shape) != math.prod(shape) or dst.shape[0] != shape[0]:
        what = f"a result of shape {shape} was written to {dst!r}"
        rules.broken("same_shape", what, always=True)
    return np.broadcast_to(answer, shape).reshape(dst.shape)


def record(
    step: Step,
    reads: Sequence[Tile],
    writes: Sequence[Tile],
    shape: Shape,
    region: Region = None,
) -> None:
    """Append the instruction to the trace that is being recorded."""
    trace, run = active(), current()
    assert trace is not None
    whole = region if isinstance(region, tuple) else None
    processed = shape if whole is None else rectangle_shape(whole)
    trace.append(
        Instruction(
            index=len(trace),
            engine=step.engine,
            operation=step.operation,
            alu=step.alu,
            reads=tuple(_access(tile, shape, whole) for tile in reads),
            writes=tuple(_access(tile, shape, whole) for tile in writes),
            partitions=processed[0],
            elements=math.prod(processed[1:]),
            loops=tuple(run.loops),
            program=run.program,
            source=rules.kernel_line(),
        )
    )


def _access(tile: Tile, shape: Shape, region: Region) -> Any:
    return tile.access(region if tile.shape == shape else None)


def redirect(value: Tile, dst: Tile) -> bool:
    """Let the last instruction write to ``dst`` instead of to a temporary tile.

    ``tile[...] = nl.add(a, b)`` is one instruction, not an addition and a copy.

    Returns
    -------
    bool
        Whether ``value`` was the whole result of the last instruction.
    """
    trace = active()
    if not trace or not trace[-1].writes:
        return False
    last = trace[-1]
    if last.writes[0].tensor != value.storage.id:
        return False
    trace[-1] = replace(last, writes=(dst.access(), *last.writes[1:]))
    return True

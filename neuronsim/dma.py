"""What one DMA transfer costs: a start, and one overhead for each contiguous piece.

AWS publishes no formula. The model: a transfer starts `start_seconds` after it is
allowed to; each of the 16 engines then moves the pieces of its eight partitions, one
after the other, and each piece costs `buffer_seconds` plus its bytes at the engine's
rate. `efficiency` is the curve this gives; its checks are in tests/neuronsim/test_cost.
"""

import math
from dataclasses import dataclass

from neuronsim.cost import Reading, itemsize
from neuronsim.hardware import NeuronCore
from neuronsim.trace import Access, Instruction


@dataclass(frozen=True)
class Transfer:
    """One `dma_copy` as the DMA engines see it.

    Attributes
    ----------
    engines : index of each engine used → seconds it is busy
    piece_bytes : contiguous bytes of one piece
    bytes : payload
    """

    engines: dict[int, float]
    piece_bytes: int
    bytes: int


def transfer(
    instruction: Instruction, core: NeuronCore, reading: Reading, *, sharers: int = 1
) -> Transfer:
    """Split a transfer over the DMA engines.

    Parameters
    ----------
    sharers : cores that use the device's memory at the same time
    """
    source, target = instruction.reads[0], instruction.writes[0]
    run = min(_run(source), _run(target))
    piece = run * min(itemsize(source), itemsize(target))
    seconds = piece_seconds(piece, core, reading, sharers=sharers)
    payload = max(source.bytes, target.bytes)
    pieces = max(1, math.prod(source.shape) // run)
    return Transfer(
        engines={
            engine: pieces * share * seconds
            for engine, share in _shares(source, target, core).items()
        },
        piece_bytes=piece,
        bytes=payload,
    )


def piece_seconds(
    piece_bytes: int, core: NeuronCore, reading: Reading, *, sharers: int = 1
) -> float:
    """Seconds one DMA engine needs for one contiguous piece."""
    memory = reading.hbm.value / sharers / core.dma.engines
    return core.dma.buffer_seconds + piece_bytes / min(reading.dma_rate.value, memory)


def efficiency(piece_bytes: int, core: NeuronCore, reading: Reading) -> float:
    """Share of an engine's rate that transfers with pieces of this size reach."""
    best = piece_bytes / reading.dma_rate.value
    return best / piece_seconds(piece_bytes, core, reading)


def _run(access: Access) -> int:
    """Elements that lie next to each other: within a partition, or in HBM."""
    dims = list(zip(access.shape, access.strides, strict=True))
    if access.buffer != "hbm":
        dims = dims[1:]
    run = 1
    for size, stride in reversed(dims):
        if size > 1 and stride != run:
            break
        run *= size
    return max(1, run)


def _shares(source: Access, target: Access, core: NeuronCore) -> dict[int, float]:
    """Which engines take part, and the share of the pieces each of them moves."""
    on_chip = next((a for a in (target, source) if a.buffer != "hbm"), None)
    if on_chip is None:
        return dict.fromkeys(range(core.dma.engines), 1 / core.dma.engines)
    rows = on_chip.shape[0]
    shares: dict[int, float] = {}
    for partition in range(on_chip.start_partition, on_chip.start_partition + rows):
        engine = partition // core.dma.partitions_per_engine
        shares[engine] = shares.get(engine, 0.0) + 1 / rows
    return shares

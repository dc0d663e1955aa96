"""Where tiles live: fresh buffers up to the capacity, then reuse, then spilling.

The compiler's allocator is not documented. The model is the simplest that keeps the
documented capacities: bytes a partition are counted, without fragmentation; the tiles
that died first are replaced first; a tile that is still needed and has no place is
written to HBM and read back, furthest next use first, which is the least traffic
possible.
"""

import bisect
import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from neuronsim.cost import Reading
from neuronsim.hardware import NeuronCore
from neuronsim.trace import Access, Allocation, Instruction

_ITEMSIZE = {"8": 1, "6": 2, "2": 4, "4": 8}  # by the last digit of the type's bits


class DoesNotFit(ValueError):
    """The operands of one instruction need more memory than there is."""


@dataclass
class _Tile:
    tensor: int
    bytes: int  # a partition
    users: set[int] = field(default_factory=set)
    clean: bool = False  # HBM holds the same content


class Buffers:
    """The tiles of SBUF and PSUM while a program is walked in order."""

    def __init__(
        self,
        program: list[Instruction],
        allocations: dict[int, Allocation],
        core: NeuronCore,
        reading: Reading,
    ) -> None:
        self._program = program
        self._allocations = allocations
        self._bank = core.psum_bank_bytes
        self._spaces = {
            "sbuf": _Space(int(reading.sbuf.value)),
            "psum": _Space(core.psum_bytes_per_partition),
        }
        self._uses = _uses(program)
        self._spilled: set[int] = set()
        self._rounds: dict[tuple, int] = {}
        self._counts: dict[tuple, tuple[tuple[int, ...], int]] = {}
        self._pending: set[int] = set()

    def make_room(self, position: int) -> Iterator[tuple[Instruction, set[int]]]:
        """Spills and reloads that have to come before an instruction.

        Yields
        ------
        (instruction, jobs it waits for)
            DMA transfers; the caller numbers them and reports them with `used`
        """
        self._pending = set()
        for access in _on_chip(self._program[position]):
            space = self._spaces[access.buffer]
            if access.tensor in space.live:
                continue
            yield from self._evict(position, access)
            waits = space.place(self._tile(access), self._same_buffer(access, position))
            if access.tensor in self._spilled:
                self._spilled.discard(access.tensor)
                space.live[access.tensor].clean = True
                yield self._transfer("reload", access.tensor, position), waits
            else:
                self._pending |= waits

    def take(self, position: int) -> set[int]:
        """Jobs that must be done before the instruction may use its new tiles."""
        return self._pending

    def used(self, number: int, instruction: Instruction) -> None:
        """Remember that a job touches its tiles."""
        reload = instruction.operation == "reload"
        copied = reload or _is_load(instruction)
        for access in _on_chip(instruction):
            tile = self._spaces[access.buffer].live.get(access.tensor)
            if tile is None:
                continue
            tile.users.add(number)
            if any(w.tensor == access.tensor for w in instruction.writes):
                tile.clean = copied

    def release(self, position: int) -> None:
        """Free the tiles that no later instruction uses."""
        for access in _on_chip(self._program[position]):
            space = self._spaces[access.buffer]
            last_use = self._uses[access.tensor][-1] == position
            if last_use and access.tensor in space.live:
                space.free(access.tensor)

    def _evict(
        self, position: int, access: Access
    ) -> Iterator[tuple[Instruction, set[int]]]:
        space = self._spaces[access.buffer]
        size = self._tile(access).bytes
        while not space.fits(size):
            victim = self._victim(position, access)
            tile = space.live[victim]
            self._spilled.add(victim)
            if not tile.clean:
                yield self._transfer("spill", victim, position), set()
            space.free(victim)

    def _victim(self, position: int, access: Access) -> int:
        """The tile whose next use is furthest away and not in this instruction."""
        now = {a.tensor for a in _on_chip(self._program[position])}
        live = self._spaces[access.buffer].live
        candidates = [tensor for tensor in live if tensor not in now]
        if not candidates or access.buffer == "psum":
            file, line = self._program[position].source
            raise DoesNotFit(
                f"{file}:{line}: the tiles alive here need more than the "
                f"{self._spaces[access.buffer].capacity} bytes a partition of "
                f"{access.buffer}; use smaller tiles"
            )
        return max(candidates, key=lambda tensor: self._next_use(tensor, position))

    def _next_use(self, tensor: int, position: int) -> int:
        uses = self._uses[tensor]
        return uses[bisect.bisect_left(uses, position)]

    def _tile(self, access: Access) -> _Tile:
        allocation = self._allocations[access.tensor]
        size = math.prod(allocation.shape[1:]) * _itemsize(allocation.dtype)
        if access.buffer == "psum":
            size = math.ceil(size / self._bank) * self._bank
        return _Tile(access.tensor, size)

    def _same_buffer(self, access: Access, position: int) -> int | None:
        """In a sequential loop: the tile that the previous iteration used here."""
        loops = self._program[position].loops
        if not any(kind == "sequential" for _, _, kind in loops):
            return None
        outer = tuple(
            (loop, None if kind == "sequential" else iteration)
            for loop, iteration, kind in loops
        )
        key = (outer, self._program[position].source, access.buffer)
        iteration = tuple(number for _, number, _ in loops)
        here, count = self._counts.get(key, (iteration, 0))
        count = count if here == iteration else 0  # the first tile of this iteration
        self._counts[key] = iteration, count + 1
        previous = self._rounds.get((*key, count))
        self._rounds[*key, count] = access.tensor
        return previous

    def _transfer(self, operation: str, tensor: int, position: int) -> Instruction:
        """A whole tile between SBUF and HBM, contiguous in both."""
        here = self._program[position]
        shape = self._allocations[tensor].shape
        size = _itemsize(self._allocations[tensor].dtype)
        strides = tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))
        row = math.prod(shape[1:]) * size
        chip, memory = (
            Access(
                tensor=tensor if buffer == "sbuf" else -tensor - 1,
                name=self._allocations[tensor].name,
                buffer=buffer,
                dtype=self._allocations[tensor].dtype,
                shape=shape,
                strides=strides,
                start_partition=0,
                first=0,
                last=row if buffer == "sbuf" else row * shape[0],
                bytes=row * shape[0],
            )
            for buffer in ("sbuf", "hbm")
        )
        source, target = (chip, memory) if operation == "spill" else (memory, chip)
        return Instruction(
            index=-1,
            engine="DMA",
            operation=operation,
            alu=(),
            reads=(source,),
            writes=(target,),
            partitions=shape[0],
            elements=math.prod(shape[1:]),
            loops=here.loops,
            program=here.program,
            source=here.source,
        )


class _Space:
    """One on-chip memory, in bytes a partition."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.live: dict[int, _Tile] = {}
        self._dead: deque[_Tile] = deque()
        self._fresh = capacity
        self._reusable = 0

    def fits(self, size: int) -> bool:
        return self._fresh + self._reusable >= size

    def free(self, tensor: int) -> None:
        tile = self.live.pop(tensor)
        self._dead.append(tile)
        self._reusable += tile.bytes

    def place(self, tile: _Tile, instead_of: int | None) -> set[int]:
        """Give a tile a place; return the jobs that used that place before."""
        self.live[tile.tensor] = tile
        waits: set[int] = set()
        same = self._find(instead_of)
        if same is not None and same.bytes == tile.bytes:
            self._dead.remove(same)
            self._reusable -= tile.bytes
            return set(same.users)
        taken = min(tile.bytes, self._fresh)
        self._fresh -= taken
        self._reusable -= tile.bytes - taken
        while taken < tile.bytes:
            oldest = self._dead[0]
            part = min(oldest.bytes, tile.bytes - taken)
            taken += part
            waits |= oldest.users
            oldest.bytes -= part
            if oldest.bytes == 0:
                self._dead.popleft()
        return waits

    def _find(self, tensor: int | None) -> _Tile | None:
        if tensor is None:
            return None
        return next((tile for tile in self._dead if tile.tensor == tensor), None)


def _uses(program: list[Instruction]) -> dict[int, list[int]]:
    uses: dict[int, list[int]] = {}
    for position, instruction in enumerate(program):
        for access in _on_chip(instruction):
            places = uses.setdefault(access.tensor, [])
            if not places or places[-1] != position:
                places.append(position)
    return uses


def _on_chip(instruction: Instruction) -> Iterable[Access]:
    return (a for a in (*instruction.reads, *instruction.writes) if a.buffer != "hbm")


def _is_load(instruction: Instruction) -> bool:
    """A transfer from HBM that leaves the content of HBM as it was."""
    return instruction.engine == "DMA" and instruction.reads[0].buffer == "hbm"


def _itemsize(dtype: str) -> int:
    if dtype in ("bool", "bool_") or "float8" in dtype:
        return 1
    return _ITEMSIZE[dtype[-1]]

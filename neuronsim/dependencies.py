"""Which instruction must wait for which: data, and the memory its tiles live in.

Two passes over a trace, in program order:

- **data**: a read needs the earlier writes to the same bytes; a write waits until
  earlier reads of, and writes to, them are done;
- **memory** (`neuronsim.buffers`): every allocation is a fresh buffer as long as SBUF
  or PSUM has room; after that it takes the place of the tiles that died first, and
  waits for whoever used them. This is what bounds how far loops overlap.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from neuronsim.buffers import Buffers
from neuronsim.cost import Reading
from neuronsim.hardware import NeuronCore
from neuronsim.trace import Access, Allocation, Instruction


@dataclass
class Job:
    """An instruction and the jobs, by position, that it has to wait for.

    Attributes
    ----------
    needs : jobs whose result it reads; their latency counts
    waits : jobs that must have finished with the memory it writes
    """

    instruction: Instruction
    needs: set[int] = field(default_factory=set)
    waits: set[int] = field(default_factory=set)


def jobs(
    instructions: Iterable[Instruction],
    allocations: dict[int, Allocation],
    core: NeuronCore,
    reading: Reading,
) -> list[Job]:
    """The instructions of one core with their dependencies, spills included.

    Raises
    ------
    neuronsim.buffers.DoesNotFit
        if one instruction's operands exceed the memory by themselves
    """
    program = list(instructions)
    data = _Data(program)
    memory = Buffers(program, allocations, core, reading)
    result: list[Job] = []
    for position, instruction in enumerate(program):
        for extra, waits in memory.make_room(position):
            result.append(data.add(len(result), extra, waits))
            memory.used(len(result) - 1, extra)
        waits = memory.take(position)
        result.append(data.add(len(result), instruction, waits))
        memory.used(len(result) - 1, instruction)
        memory.release(position)
    return result


class _Data:
    """The accesses so far that a later instruction may depend on."""

    def __init__(self, program: list[Instruction]) -> None:
        written = {a.tensor for i in program for a in i.writes}
        read = {a.tensor for i in program for a in i.reads}
        self._shared = written & read
        self._writes: dict[int, list[tuple[Access, int]]] = defaultdict(list)
        self._reads: dict[int, list[tuple[Access, int]]] = defaultdict(list)

    def add(self, number: int, instruction: Instruction, waits: Iterable[int]) -> Job:
        """The job of an instruction, after which its accesses are remembered."""
        job = Job(instruction, waits=set(waits))
        for access in instruction.reads:
            job.needs |= _overlapping(self._writes[access.tensor], access)
        for access in instruction.writes:
            if self._ignored(access):
                continue  # stores of disjoint results may finish in any order
            job.waits |= _overlapping(self._writes[access.tensor], access)
            job.waits |= _overlapping(self._reads[access.tensor], access)
        self._remember(number, instruction)
        job.needs.discard(number)
        job.waits -= job.needs
        return job

    def _remember(self, number: int, instruction: Instruction) -> None:
        for access in instruction.reads:
            if not self._ignored(access):
                self._reads[access.tensor].append((access, number))
        for access in instruction.writes:
            if self._ignored(access):
                continue
            for history in (self._writes, self._reads):
                history[access.tensor] = [
                    (old, n)
                    for old, n in history[access.tensor]
                    if n == number or not _covers(access, old)
                ]
            self._writes[access.tensor].append((access, number))

    def _ignored(self, access: Access) -> bool:
        """HBM that is only read or only written; spilled tiles (below 0) are both."""
        shared = access.tensor < 0 or access.tensor in self._shared
        return access.buffer == "hbm" and not shared


def _overlapping(history: list[tuple[Access, int]], access: Access) -> set[int]:
    return {number for old, number in history if overlap(old, access)}


def overlap(a: Access, b: Access) -> bool:
    """Whether two accesses to the same tensor may touch the same byte."""
    if a.first >= b.last or b.first >= a.last:
        return False
    if a.buffer != "hbm":
        a_end, b_end = a.start_partition + a.shape[0], b.start_partition + b.shape[0]
        if a.start_partition >= b_end or b.start_partition >= a_end:
            return False
    return not _interleaved(a, b)


def _interleaved(a: Access, b: Access) -> bool:
    """Every k-th element of the same row, beginning at different elements."""
    step = _step(a)
    return step > 0 and step == _step(b) and (a.first - b.first) % step != 0


def _step(access: Access) -> int:
    """Bytes between the elements of a one-dimensional strided view, else 0."""
    dims = [
        (size, stride)
        for size, stride in zip(access.shape[1:], access.strides[1:], strict=True)
        if size > 1
    ]
    if access.buffer == "hbm" or len(dims) != 1 or abs(dims[0][1]) < 2:
        return 0
    elements = access.shape[0] * dims[0][0]
    return abs(dims[0][1]) * (access.bytes // elements)


def _covers(new: Access, old: Access) -> bool:
    """Whether a write replaces all that an older access touched."""
    if new.first > old.first or new.last < old.last or new.bytes < old.bytes:
        return False
    if new.buffer != "hbm" and (
        new.start_partition > old.start_partition
        or new.start_partition + new.shape[0] < old.start_partition + old.shape[0]
    ):
        return False
    rows = new.shape[0] if new.buffer != "hbm" else 1
    return (new.last - new.first) * rows == new.bytes

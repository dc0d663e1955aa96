"""Run jobs on the engines of one core: parallel in-order queues and 16 DMA engines.

Every compute engine starts its instructions in program order. A transfer is cut into
one part for each DMA engine it uses (`neuronsim.dma`). A DMA engine has one queue for
loads and one for stores; each queue is served in the order in which transfers become
ready, and the two take turns (AWS documents round robin between queues).
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from neuronsim import cost, dma
from neuronsim.cost import Reading
from neuronsim.dependencies import Job
from neuronsim.hardware import NeuronCore
from neuronsim.queues import DmaEngines, Moved
from neuronsim.trace import Instruction

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "DMA")


@dataclass(frozen=True)
class Placed:
    """A job with its time on an engine.

    Attributes
    ----------
    start, end : seconds; `end` is when the engine is free again
    ready : when a dependent instruction may read the result
    reason : what it waited for last: "data", "memory", "engine", "port" or "start"
    after : the job, by position, that made it wait; -1 for none
    busy : engine seconds it takes (a transfer's, summed over its DMA engines)
    """

    instruction: Instruction
    start: float
    end: float
    ready: float
    reason: str
    after: int
    busy: float


def run(
    work: list[Job], core: NeuronCore, reading: Reading, *, sharers: int = 1
) -> list[Placed]:
    """Place every job at the earliest time its engine, data and ports allow.

    Returns
    -------
    list of Placed
        in the order of `work`
    """
    return _Run(work, core, reading, sharers).run()


class _Run:
    def __init__(self, work, core: NeuronCore, reading: Reading, sharers: int) -> None:
        self._work: list[Job] = work
        self._core, self._reading, self._sharers = core, reading, sharers
        self._placed: list[Placed | None] = [None] * len(work)
        self._missing = [len(job.needs | job.waits) for job in work]
        self._ready = [(0.0, "start", -1)] * len(work)
        self._dependents: dict[int, list[int]] = defaultdict(list)
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        self._free: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, -1))
        self._dma = DmaEngines(core.dma.engines)

    def run(self) -> list[Placed]:
        for number, job in enumerate(self._work):
            for other in job.needs | job.waits:
                self._dependents[other].append(number)
            if job.instruction.engine != "DMA":
                self._queues[job.instruction.engine].append(number)
            elif not self._missing[number]:
                self._submit(number)
        while self._place_next():
            pass
        assert all(self._placed), "a dependency points forward"
        return [placed for placed in self._placed if placed is not None]

    def _place_next(self) -> bool:
        """Of all that could start now, start the earliest; False when all is done."""
        heads = [
            (*self._start(queue[0]), queue[0])
            for queue in self._queues.values()
            if queue and not self._missing[queue[0]]
        ]
        first = min(heads, default=None)
        if self._dma.busy and (first is None or self._dma.next_time <= first[0]):
            finished = self._dma.step()
            if finished is not None:
                self._moved(finished)
            return True
        if first is None:
            return False
        start, reason, after, number = first
        self._queues[self._work[number].instruction.engine].popleft()
        self._finish(number, self._compute(number, start, reason, after))
        return True

    def _start(self, number: int) -> tuple[float, str, int]:
        instruction = self._work[number].instruction
        choices = [self._ready[number]]
        time, after = self._free[instruction.engine]
        choices.append((time, "engine", after))
        for port in _ports(instruction, self._core):
            time, after = self._free[port]
            choices.append((time, "port", after))
        return max(choices, key=lambda choice: choice[0])

    def _compute(self, number: int, start: float, reason: str, after: int) -> Placed:
        i = self._work[number].instruction
        busy = cost.interval(i, self._core, self._reading)
        latency = cost.visible(i, self._core, self._reading)
        for resource in (i.engine, *_ports(i, self._core)):
            self._free[resource] = (start + busy, number)
        return Placed(i, start, start + busy, start + latency, reason, after, busy)

    def _submit(self, number: int) -> None:
        i = self._work[number].instruction
        move = dma.transfer(i, self._core, self._reading, sharers=self._sharers)
        ready = self._ready[number][0] + self._core.dma.start_seconds
        queue = "load" if i.reads[0].buffer == "hbm" else "store"
        self._dma.submit(number, queue, ready, move.engines)

    def _moved(self, transfer: Moved) -> None:
        number = transfer.number
        _, reason, after = self._ready[number]
        if transfer.behind is not None:
            reason, after = "engine", transfer.behind
        i = self._work[number].instruction
        start, end = transfer.start, transfer.end
        self._finish(number, Placed(i, start, end, end, reason, after, transfer.busy))

    def _finish(self, number: int, placed: Placed) -> None:
        self._placed[number] = placed
        for other in self._dependents[number]:
            job = self._work[other]
            needed = number in job.needs
            time = placed.ready if needed else placed.end
            if time > self._ready[other][0]:
                self._ready[other] = (time, "data" if needed else "memory", number)
            self._missing[other] -= 1
            if not self._missing[other] and job.instruction.engine == "DMA":
                self._submit(other)


def _ports(instruction: Instruction, core: NeuronCore) -> list[str]:
    """Memory ports that this engine shares with another one."""
    buffers = {a.buffer for a in (*instruction.reads, *instruction.writes)}
    ports = []
    if core.vector_gpsimd_share_sbuf and instruction.engine in ("Vector", "GpSimd"):
        ports += ["sbuf port"] if "sbuf" in buffers else []
    if core.vector_scalar_share_psum and instruction.engine in ("Vector", "Scalar"):
        ports += ["psum port"] if "psum" in buffers else []
    return ports


def lanes(jobs: Iterable[Placed]) -> list[tuple[int, Placed]]:
    """Give overlapping jobs different lanes, from 0, so that each can be drawn."""
    free: list[float] = []
    result = []
    for placed in sorted(jobs, key=lambda p: (p.start, p.end)):
        lane = next((n for n, end in enumerate(free) if end <= placed.start), len(free))
        free[lane : lane + 1] = [placed.end]
        result.append((lane, placed))
    return result

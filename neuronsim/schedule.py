"""Run jobs on the engines of one core: parallel in-order queues and 16 DMA engines.

Every compute engine starts its instructions in program order. A transfer starts as soon
as its data and its place are there, in the order in which transfers become ready.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from neuronsim import cost, dma
from neuronsim.cost import Reading
from neuronsim.dependencies import Job
from neuronsim.hardware import NeuronCore
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
        self._transfers: list[tuple[float, int]] = []
        self._free: dict[object, tuple[float, int]] = defaultdict(lambda: (0.0, -1))

    def run(self) -> list[Placed]:
        for number, job in enumerate(self._work):
            for other in job.needs | job.waits:
                self._dependents[other].append(number)
            if job.instruction.engine != "DMA":
                self._queues[job.instruction.engine].append(number)
            elif not self._missing[number]:
                heapq.heappush(self._transfers, (0.0, number))
        for _ in self._work:
            self._place_next()
        return [placed for placed in self._placed if placed is not None]

    def _place_next(self) -> None:
        """Of all jobs that could start now, start the earliest."""
        heads = [
            (*self._start(queue[0]), queue[0])
            for queue in self._queues.values()
            if queue and not self._missing[queue[0]]
        ]
        first = min(heads, default=None)
        if self._transfers and (first is None or self._transfers[0][0] <= first[0]):
            _, number = heapq.heappop(self._transfers)
            self._finish(number, self._move(number))
        else:
            assert first is not None, "a dependency points forward"
            start, reason, after, number = first
            self._queues[self._work[number].instruction.engine].popleft()
            self._finish(number, self._compute(number, start, reason, after))

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

    def _move(self, number: int) -> Placed:
        i = self._work[number].instruction
        move = dma.transfer(i, self._core, self._reading, sharers=self._sharers)
        ready, reason, after = self._ready[number]
        earliest, end = ready + self._core.dma.start_seconds, 0.0
        start = float("inf")
        for engine, seconds in move.engines.items():
            free, last = self._free[engine]
            if free > earliest:
                reason, after = "engine", last
            begin = max(free, earliest)
            self._free[engine] = (begin + seconds, number)
            start, end = min(start, begin), max(end, begin + seconds)
        return Placed(i, start, end, end, reason, after, sum(move.engines.values()))

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
                heapq.heappush(self._transfers, (self._ready[other][0], other))


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

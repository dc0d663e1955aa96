"""Predict how long a kernel takes, and why.

>>> prediction = profile(kernel, a, b)      # or predict(trace) of a recorded trace
>>> prediction.total            # seconds, (fast, slow) reading of the documents
>>> prediction.slow.busiest     # "Vector"
>>> prediction.to_chrome_trace("trace.json")   # opens in Perfetto

The prediction is a range because AWS's documents contradict each other in places
(`neuronsim.cost.readings`). It is the time of the instruction stream alone: loading the
program, starting it and the host are not in it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neuronsim import chrome, cost, dependencies, schedule
from neuronsim.cost import Reading
from neuronsim.hardware import NEURONCORE_V2, NeuronCore
from neuronsim.schedule import ENGINES, Placed
from neuronsim.trace import Allocation, Instruction, Trace, record


@dataclass(frozen=True)
class Timeline:
    """One reading's schedule of a kernel.

    Attributes
    ----------
    reading : how the documents were read
    core : the NeuronCore it runs on
    cores : for each NeuronCore used, its jobs with their times
    """

    reading: Reading
    core: NeuronCore
    cores: tuple[tuple[Placed, ...], ...]

    @cached_property
    def total(self) -> float:
        """Seconds until the last job of the last core is done."""
        return max((p.end for jobs in self.cores for p in jobs), default=0.0)

    @cached_property
    def busy(self) -> dict[str, float]:
        """Seconds each engine works, averaged over the cores (DMA: over 16 engines)."""
        seconds = dict.fromkeys(ENGINES, 0.0)
        for placed in (p for jobs in self.cores for p in jobs):
            engine = placed.instruction.engine
            parallel = self.core.dma.engines if engine == "DMA" else 1
            if engine in seconds:
                seconds[engine] += placed.busy / parallel / len(self.cores)
        return seconds

    @property
    def share(self) -> dict[str, float]:
        """Busy share of each engine, 0 to 1."""
        return {e: b / self.total if self.total else 0.0 for e, b in self.busy.items()}

    @property
    def busiest(self) -> str:
        """The engine that works longest: the first one to make cheaper."""
        return max(self.busy, key=lambda engine: self.busy[engine])

    @cached_property
    def floors(self) -> dict[str, float]:
        """Times no schedule of these instructions can beat, in seconds."""
        return {**self.busy, "HBM": self.bytes / self.reading.hbm.value}

    @cached_property
    def bytes(self) -> int:
        """Bytes moved to and from HBM, spills included."""
        return sum(
            access.bytes
            for jobs in self.cores
            for placed in jobs
            for access in (*placed.instruction.reads, *placed.instruction.writes)
            if access.buffer == "hbm"
        )

    @cached_property
    def spilled_bytes(self) -> int:
        """The part of `bytes` that moves tiles for which SBUF had no room."""
        return sum(
            placed.instruction.reads[0].bytes
            for jobs in self.cores
            for placed in jobs
            if placed.instruction.operation in ("spill", "reload")
        )

    @cached_property
    def critical_path(self) -> list[Placed]:
        """The jobs that made each other wait, from the start to the last end."""
        jobs = max(self.cores, key=lambda jobs: max((p.end for p in jobs), default=0))
        if not jobs:
            return []
        path = [max(jobs, key=lambda p: p.end)]
        while path[-1].after >= 0:
            path.append(jobs[path[-1].after])
        return path[::-1]

    def idle(self, engine: str) -> dict[str, float]:
        """Seconds an engine waited on the first core, by what it waited for."""
        waits: dict[str, float] = {}
        free = 0.0
        for placed in self.cores[0]:
            if placed.instruction.engine == engine:
                gap = placed.start - free
                if gap > 0:
                    reason = self._waited_for(placed)
                    waits[reason] = waits.get(reason, 0.0) + gap
                free = placed.end
        return waits

    def _waited_for(self, placed: Placed) -> str:
        if placed.after < 0:
            return placed.reason
        other = self.cores[0][placed.after].instruction.engine
        own = other == placed.instruction.engine
        return f"own {placed.reason}" if own else f"{other} {placed.reason}"


@dataclass(frozen=True)
class Prediction:
    """The predicted time of a kernel: a fast and a slow reading of the documents."""

    fast: Timeline
    slow: Timeline
    flops: int

    @property
    def total(self) -> tuple[float, float]:
        """Seconds, (fast, slow)."""
        return self.fast.total, self.slow.total

    @property
    def middle(self) -> float:
        """Seconds half-way between the readings; what one bar of a plot shows."""
        return (self.fast.total + self.slow.total) / 2

    @property
    def intensity(self) -> float:
        """Arithmetic operations for each byte of HBM traffic (flop/byte)."""
        return self.flops / self.fast.bytes if self.fast.bytes else float("inf")

    @property
    def rate(self) -> float:
        """Arithmetic operations a second (flop/s) at the middle of the range."""
        return self.flops / self.middle if self.middle else 0.0

    def to_chrome_trace(self, path: str | Path, *, reading: str = "slow") -> Path:
        """Write the timeline as a JSON file that Perfetto and chrome://tracing open.

        Parameters
        ----------
        path : file to write
        reading : "fast" or "slow"
        """
        timeline = {"fast": self.fast, "slow": self.slow}[reading]
        path = Path(path)
        events = chrome.events(timeline)
        path.write_text(json.dumps({"traceEvents": events}), "utf-8")
        return path

    def __str__(self) -> str:
        fast, slow = (1e6 * t for t in self.total)
        return (
            f"predicted {fast:.1f} to {slow:.1f} µs on {self.fast.core.name}, "
            f"busiest engine {self.slow.busiest} "
            f"({self.slow.share[self.slow.busiest]:.0%} of the time)"
        )


def predict(
    trace: Trace, core: NeuronCore = NEURONCORE_V2, *, cores: int = 1
) -> Prediction:
    """Schedule a recorded kernel on the documented engines.

    Parameters
    ----------
    trace : from `neuronsim.trace.record`
    core : the NeuronCore to run it on
    cores : NeuronCores of one device that share the programs of a grid; they also
        share the device's memory bandwidth

    Raises
    ------
    ValueError
        if the device has fewer cores
    neuronsim.buffers.DoesNotFit
        if one instruction's tiles exceed SBUF or PSUM
    """
    if not 1 <= cores <= core.hbm.cores:
        raise ValueError(
            f"{core.name}: a device has {core.hbm.cores} cores, not {cores}"
        )
    parts = _by_core(trace, cores)
    fast, slow = (
        _timeline(parts, trace.allocations, core, reading)
        for reading in cost.readings(core)
    )
    return Prediction(fast, slow, sum(cost.flops(i) for i in trace))


def profile(
    kernel: Callable[..., Any],
    *arguments: Any,
    core: NeuronCore = NEURONCORE_V2,
    cores: int = 1,
) -> Prediction:
    """Simulate a kernel once and predict its time: `record` and `predict` in one.

    Parameters
    ----------
    kernel : callable
        decorated with `nki.jit` or `nki.trace`, possibly with a grid: ``kernel[2]``
    *arguments : its inputs
    """
    with record() as trace:
        kernel(*arguments)
    return predict(trace, core, cores=cores)


def _by_core(trace: Trace, cores: int) -> list[list[Instruction]]:
    """Programs of the grid, dealt out to the cores in contiguous halves."""
    programs = list(dict.fromkeys(i.program for i in trace))
    owner = {p: n * cores // len(programs) for n, p in enumerate(programs)}
    parts: list[list[Instruction]] = [[] for _ in range(cores)]
    for instruction in trace:
        parts[owner[instruction.program]].append(instruction)
    return parts


def _timeline(
    parts: list[list[Instruction]],
    allocations: dict[int, Allocation],
    core: NeuronCore,
    reading: Reading,
) -> Timeline:
    return Timeline(
        reading,
        core,
        tuple(
            tuple(
                schedule.run(
                    dependencies.jobs(part, allocations, core, reading),
                    core,
                    reading,
                    sharers=len(parts),
                )
            )
            for part in parts
        ),
    )

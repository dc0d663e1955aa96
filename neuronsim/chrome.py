"""A timeline as Chrome trace events: what Perfetto and chrome://tracing open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuronsim.schedule import ENGINES, Placed, lanes

if TYPE_CHECKING:
    from neuronsim.timeline import Timeline


def events(timeline: Timeline) -> list[dict]:
    """A process for each core, a thread for each engine and for parallel transfers.

    Times are microseconds, as the format wants them. Events of one thread never
    overlap: transfers that run at the same time get threads "DMA 0", "DMA 1", ...
    """
    result: list[dict] = []
    for number, jobs in enumerate(timeline.cores):
        name = f"{timeline.core.name} {number} (predicted)"
        result.append(_meta("process_name", number, 0, name))
        for thread, engine in enumerate(ENGINES[:-1]):
            result.append(_meta("thread_name", number, thread, engine))
            result += [_event(p, number, thread) for p in jobs if _on(p, engine)]
        result += _transfers(jobs, number)
    return result


def _transfers(jobs: tuple[Placed, ...], pid: int) -> list[dict]:
    first = len(ENGINES) - 1
    placed = lanes(p for p in jobs if _on(p, "DMA"))
    threads = range(1 + max((lane for lane, _ in placed), default=-1))
    return [
        *(_meta("thread_name", pid, first + n, f"DMA {n}") for n in threads),
        *(_event(p, pid, first + lane) for lane, p in placed),
    ]


def _on(placed: Placed, engine: str) -> bool:
    return placed.instruction.engine == engine


def _meta(kind: str, pid: int, tid: int, name: str) -> dict:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _event(placed: Placed, pid: int, tid: int) -> dict:
    i = placed.instruction
    file, line = i.source
    return {
        "ph": "X",
        "name": i.operation,
        "cat": i.engine,
        "pid": pid,
        "tid": tid,
        "ts": placed.start * 1e6,
        "dur": (placed.end - placed.start) * 1e6,
        "args": {
            "alu": " ".join(i.alu),
            "elements": i.elements,
            "partitions": i.partitions,
            "waited for": placed.reason,
            "source": f"{Path(file).name}:{line}",
        },
    }

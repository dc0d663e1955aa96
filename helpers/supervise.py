"""Execute one notebook in a child process and judge how it went.

``supervise.execute(job, outcome, follow)`` starts helpers.execute, follows its events,
and ends it and all its descendants, at the deadline at the latest.
"""

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from helpers import status

GRACE = 20.0  # seconds that the inner deadline has to end the notebook by itself
TICK = 0.5  # seconds between two looks at the clock
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@dataclass
class Job:
    """One notebook to execute; paths are absolute, the deadline is in seconds."""

    input: Path
    output: Path
    folder: Path
    parameters: dict
    deadline: float
    environment: dict[str, str]


@dataclass
class Outcome:
    """What happened, cell by cell, and the verdict that follows."""

    code_cells: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    done: dict[int, str] = field(default_factory=dict)  # cell -> error or ""
    end: dict = field(default_factory=dict)  # the last event
    environment: dict = field(default_factory=dict)  # of the kernel: before, after
    returncode: int | None = None
    killed: bool = False  # by the outer deadline
    seconds: float = 0.0

    @property
    def never_ran(self) -> list[int]:
        return [cell for cell in self.code_cells if cell not in self.done]

    @property
    def failing_cell(self) -> int | None:
        """The cell that raised, hung or died; None if all is well."""
        bad = [cell for cell, error in self.done.items() if error]
        hung = [cell for cell in self.started if cell not in self.done]
        return next(iter(bad + hung), None)

    def cell_state(self, cell: int) -> str:
        if cell in self.done:
            return "failed" if self.done[cell] else "completed"
        return "running" if cell in self.started else "pending"


def execute(job: Job, outcome: Outcome, follow: Callable[[], None]) -> None:
    """Execute the job and fill the outcome, also if this raises (Ctrl-C).

    ``follow`` is called at every event and twice a second.
    All processes that the notebook started are gone when this returns or raises, and
    so are the temporary files that it left (exported models, say).
    """
    before = {process.pid for process in _descendants()}
    start = time.monotonic()
    read_end, write_end = os.pipe()
    end = start + job.deadline + GRACE
    scratch = tempfile.TemporaryDirectory(prefix="series-", ignore_cleanup_errors=True)
    try:
        child = _start(job, write_end, scratch.name)
        os.close(write_end)
        for line in _lines(read_end, end):
            outcome.seconds = time.monotonic() - start
            _note(outcome, line)
            follow()
        outcome.returncode = _wait(child, end)
        outcome.killed = outcome.returncode is None
    finally:
        os.close(read_end)
        _end_all_but(before)
        scratch.cleanup()
    outcome.seconds = time.monotonic() - start


def verdict(outcome: Outcome, job: Job) -> tuple[str, str]:
    """Status and reason. Only a complete run in which every cell ran has passed."""
    cell = outcome.failing_cell
    where = "before the first cell" if cell is None else f"in cell {cell + 1}"
    limit = f"the deadline of {job.deadline:g} s"
    if outcome.killed:
        return status.TIMED_OUT, f"no end {where} after {limit}; it was killed"
    if not outcome.end:
        code = outcome.returncode
        return status.CRASHED, f"the executing process {_ended(code)} {where}"
    match outcome.end["how"]:
        case "timeout":
            return status.TIMED_OUT, f"still running {where} at {limit}"
        case "dead":
            return status.CRASHED, f"the kernel {_ended(outcome.end['status'])} {where}"
        case "lost":
            return status.CRASHED, f"the kernel's messages were lost {where}"
        case "broken":
            return status.CRASHED, f"{outcome.end['error']} ({where})"
    return _judge_cells(outcome)


def _judge_cells(outcome: Outcome) -> tuple[str, str]:
    """papermill came to an end; did every cell run without an error?"""
    lost = len(outcome.never_ran)
    never = f" (cells that never ran: {lost})" if lost else ""
    cell = outcome.failing_cell
    if cell is not None:
        return status.FAILED, f"cell {cell + 1}: {outcome.done.get(cell)}{never}"
    if lost or not outcome.code_cells:
        return status.FAILED, f"{lost} of {len(outcome.code_cells)} cells never ran"
    if outcome.end["how"] != "complete":
        return status.FAILED, "papermill reports an error that no cell shows"
    return status.PASSED, ""


def _ended(code: int | None) -> str:
    if code is None:
        return "died"
    if code >= 0:
        return f"ended by itself with exit status {code}"
    name = signal.Signals(-code).name
    memory = " (running out of memory ends like this)" if name == "SIGKILL" else ""
    return f"was ended by {name}{memory}"


def _start(job: Job, write_end: int, scratch: str) -> subprocess.Popen:
    description = {
        "input": str(job.input),
        "output": str(job.output),
        "folder": str(job.folder),
        "parameters": job.parameters,
        "deadline": job.deadline,
    }
    job_file = job.folder / "job.json"
    status.write(job_file, json.dumps(description, indent=1))
    with (job.folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "helpers.execute", str(job_file), str(write_end)],
            stdin=subprocess.PIPE,  # its end tells the child that we are gone
            stdout=log,
            stderr=log,
            pass_fds=[write_end],
            env=job.environment | {"TMPDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch},
            start_new_session=True,  # a Ctrl-C of the terminal reaches only us
        )


def _lines(events: int, end: float) -> Iterator[str]:
    """Lines as they come, "" at every tick, until the pipe closes or ``end``."""
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(events, selectors.EVENT_READ)
        while time.monotonic() < end:
            if not selector.select(TICK):
                yield ""
                continue
            data = os.read(events, 1 << 16)
            if not data:
                return
            *complete, pending = (pending + data).split(b"\n")
            yield from (line.decode() for line in complete)


def _note(outcome: Outcome, line: str) -> None:
    event: dict[str, Any] = json.loads(line) if line else {"event": "tick"}
    match event.pop("event"):
        case "cells":
            outcome.code_cells = event["code"]
        case "cell":
            outcome.started.append(event["cell"])
        case "executed":
            error = "" if event["ok"] else event["error"] or "an error"
            outcome.done[event["cell"]] = error
        case "environment":
            outcome.environment |= event
        case "end":
            outcome.end = event


def _wait(child: subprocess.Popen, end: float) -> int | None:
    try:
        return child.wait(max(end - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return None


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process, so that it can end them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _end_all_but(before: set[int]) -> None:
    """End what the notebook left: the kernel and workers in sessions of their own.

    Orphans come to this process (see ``adopt_orphans``), so none is missed.
    """
    for _ in range(20):
        left = [process for process in _descendants() if process.pid not in before]
        if not left:
            return
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=1)

"""The truth about a run: ``status.load("runs/latest")`` reads its status.json.

The runner alone writes it, to a temporary name that is then renamed, after every
change; so it is valid at any moment, also when the runner is killed.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

SCHEMA = 1
FILE = "status.json"

PASSED = "passed"
FAILED = "failed"
TIMED_OUT = "timed out"
CRASHED = "crashed"
SKIPPED = "skipped"
INTERRUPTED = "interrupted"
RUNNING = "running"
NOT_RUN = "not run"

GOOD = (PASSED, SKIPPED)


class RunError(ValueError):
    """A request that cannot be carried out; the message says what to do."""


@dataclass
class NotebookStatus:
    """One notebook of a run. Durations in seconds, times in ISO 8601 (UTC)."""

    name: str
    title: str
    path: str  # the notebook that was executed, on the machine of the run
    parameters: dict
    key: str = ""  # of what a result depends on; see helpers.run
    status: str = NOT_RUN
    reason: str = ""
    started: str = ""
    seconds: float | None = None
    expected: float | None = None
    cells: int = 0
    cells_run: int = 0
    failing_cell: int | None = None  # index in the executed notebook


@dataclass
class RunStatus:
    """One run: a set of notebooks in one profile on one machine."""

    id: str
    profile: str
    parameters: dict  # as they were given
    deadline: float  # seconds a notebook
    started: str
    machine: dict
    finished: str = ""
    state: str = RUNNING  # running, finished, interrupted
    warnings: list[str] = field(default_factory=list)
    notebooks: list[NotebookStatus] = field(default_factory=list)
    schema: int = SCHEMA
    run_deadline: float | None = None  # seconds all notebooks together

    @property
    def good(self) -> bool:
        return all(notebook.status in GOOD for notebook in self.notebooks)

    def count(self) -> dict[str, int]:
        """How many notebooks have which status."""
        every = [notebook.status for notebook in self.notebooks]
        return {status: every.count(status) for status in dict.fromkeys(every)}


def save(folder: Path, status: RunStatus) -> None:
    write(folder / FILE, json.dumps(asdict(status), indent=1, default=str))


def load(folder: str | Path) -> RunStatus:
    """Read the status of a run; a run that nobody executes any more is not running.

    Raises
    ------
    RunError
        If there is no run in the folder or its status cannot be read.
    """
    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        raise RunError(f"{folder} holds no run: there is no {FILE} in it.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        notebooks = [NotebookStatus(**entry) for entry in data.pop("notebooks")]
        status = RunStatus(**data, notebooks=notebooks)
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(
            f"{path} is not a status file of this version: {error}"
        ) from None
    return status if is_live(folder) else _settled(status)


def write(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a run: while the block runs, no other process may execute it.

    Raises
    ------
    RunError
        If another process holds it.
    """
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"{folder} is being executed right now.") from None
        yield


def is_live(folder: Path) -> bool:
    """Is a process executing this run?"""
    path = folder / ".lock"
    if not path.exists():
        return False
    with path.open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _settled(status: RunStatus) -> RunStatus:
    """What a killed runner could no longer write."""
    if status.state == RUNNING:
        status.state = INTERRUPTED
    for notebook in status.notebooks:
        if notebook.status == RUNNING:
            notebook.status = INTERRUPTED
            notebook.reason = "the runner ended while this notebook was running"
    return status

"""Run notebooks strictly: ``run.start(["07_graviton_baseline"], profile="quick")``.

papermill alone hides failures (a misspelt parameter, a dead kernel and ``sys.exit(0)``
all look green), so every notebook runs in a child process, with a deadline, and the
truth is the runner's own status.json. The same from a shell: ``python -m helpers run``.
"""

import json
import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helpers import machine, plan, reserve, status, supervise
from helpers.progress import Progress
from helpers.status import NotebookStatus, RunError, RunStatus

DEADLINES = {"smoke": 600.0, "quick": 1800.0, "full": 4 * 3600.0}  # seconds a notebook
MARK = "papermill-error-cell-tag"  # of cells that papermill inserts at a failure
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Interrupted(BaseException):
    """A signal asked the run to end."""


def start(
    notebooks: Sequence[str] = (),
    *,
    profile: str = "quick",
    out: str | Path = "runs",
    given: dict[str, Any] | None = None,
    deadline: float | None = None,
    run_deadline: float | None = None,
) -> Path:
    """Execute notebooks one after the other; nothing starts if a parameter is wrong.

    Call it in a process of its own: it ends whatever processes a notebook leaves.

    Parameters
    ----------
    notebooks
        Names (``"07_graviton_baseline"``), numbers (``"07"``) or paths; all if empty.
    profile
        smoke, quick or full.
    out
        Where the run's folder is made.
    given
        Further parameters; every notebook must have them.
    deadline
        Seconds a notebook may take; by default a limit of the profile.
    run_deadline
        Seconds all notebooks together may take; what is then left is not run.

    Returns
    -------
    Path
        The run's folder; ``status.load`` reads the verdicts.

    Raises
    ------
    RunError
        If the request cannot be carried out.
    """
    if profile not in DEADLINES:
        raise RunError(f"Profile {profile!r} is none of {', '.join(DEADLINES)}.")
    given = dict(given or {})
    paths = plan.choose(notebooks)
    entries = [plan.entry(path, profile, given) for path in paths]
    plan.refuse_twins(entries)
    folder = _new_folder(Path(out), profile)
    run = RunStatus(
        id=folder.name,
        profile=profile,
        parameters=given,
        deadline=deadline or DEADLINES[profile],
        run_deadline=run_deadline,
        started=_now(),
        machine=machine.describe().as_dict(),
        notebooks=entries,
    )
    return _carry_out(folder, run)


def resume(folder: str | Path) -> Path:
    """Repeat what has not passed in a run, and what its code has changed since.

    Raises
    ------
    RunError
        If there is no run in the folder or it is being executed right now.
    """
    folder = Path(folder).resolve()
    run = status.load(folder)
    run.machine, run.state, run.finished = machine.describe().as_dict(), "running", ""
    fresh = [
        plan.entry(Path(notebook.path), run.profile, run.parameters)
        for notebook in run.notebooks
    ]
    run.notebooks = [
        old if old.status == status.PASSED and old.key == new.key else new
        for old, new in zip(run.notebooks, fresh, strict=True)
    ]
    return _carry_out(folder, run)


def latest(out: str | Path = "runs") -> Path:
    """The newest run's folder."""
    link = Path(out) / "latest"
    if not link.is_dir():
        raise RunError(f"There is no run in {out}/ yet: `python -m helpers run`.")
    return link.resolve()


def _new_folder(out: Path, profile: str) -> Path:
    """A folder that no other run has; parallel runs cannot get the same one."""
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{profile}"
    for attempt in range(1000):
        folder = out.resolve() / (f"{stamp}-{attempt + 1}" if attempt else stamp)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise RunError(f"{out} already holds a thousand runs of this second.")


def _point_latest_to(folder: Path) -> None:
    temporary = folder.parent / f".latest-{os.getpid()}"
    temporary.symlink_to(folder.name)
    temporary.replace(folder.parent / "latest")


def _carry_out(folder: Path, run: RunStatus) -> Path:
    """Execute every notebook that is to run; leave a valid status at any moment."""
    run.warnings = [
        f"{name}={os.environ[name]} is set and limits the threads of every notebook"
        for name in THREADS
        if name in os.environ
    ]
    with status.lock(folder), _signals(), reserve.held(folder):
        status.save(folder, run)
        _point_latest_to(folder)
        progress = Progress(run)
        for warning in run.warnings:
            progress.say(f"! {warning}")
        try:
            _all(folder, run, progress)
            run.state = "finished"
        except Interrupted:
            run.state = status.INTERRUPTED
            progress.say(f"Continue with: python -m helpers run --resume {run.id}")
        except OSError as problem:
            raise _ended_early(folder, run, problem) from problem
        run.finished = _now()
        status.save(folder, run)
    return folder


def _all(folder: Path, run: RunStatus, progress: Progress) -> None:
    end = time.monotonic() + (run.run_deadline or math.inf)
    for notebook in run.notebooks:
        left = end - time.monotonic()
        if left <= 0 and notebook.status not in status.GOOD:
            limit = f"the run's deadline of {run.run_deadline:g} s"
            notebook.status, notebook.reason = status.NOT_RUN, f"{limit} had passed"
            progress.end(notebook)
            continue
        _one(folder, run, notebook, progress, left)


def _ended_early(folder: Path, run: RunStatus, problem: OSError) -> RunError:
    """The disk is full, or cannot be written any more: keep what there is."""
    reserve.release(folder)
    run.state, run.finished = status.INTERRUPTED, _now()
    why = f"the runner could not write: {problem.strerror}"
    run.warnings.append(f"the run ended early: {why}")
    for notebook in run.notebooks:
        if notebook.status == status.RUNNING:
            notebook.status, notebook.reason = status.CRASHED, why
    with suppress(OSError):  # then the status before this one stays, and is valid
        status.save(folder, run)
    return RunError(
        f"The run ended early, {why} (in {folder}). When it can be written again: "
        f"python -m helpers run --resume {run.id}"
    )


def _one(
    folder: Path,
    run: RunStatus,
    notebook: NotebookStatus,
    progress: Progress,
    left: float,
) -> None:
    if notebook.status in status.GOOD:
        progress.end(notebook)
        return
    notebook.expected = _expected(folder, run, notebook) or notebook.expected
    notebook.status, notebook.started = status.RUNNING, _now()
    status.save(folder, run)
    progress.begin(notebook)
    job, outcome = _job(folder, run, notebook, left), supervise.Outcome()

    def follow() -> None:
        notebook.cells, notebook.cells_run = len(outcome.code_cells), len(outcome.done)
        progress.tick(notebook, len(outcome.started), outcome.seconds)

    try:
        supervise.execute(job, outcome, follow)
    except Interrupted:
        notebook.status = status.INTERRUPTED
        notebook.reason = "the run was ended by a signal"
        _keep_executed(job, outcome, notebook)
        progress.end(notebook)
        raise
    with _undisturbed():  # a verdict is saved with its notebook, or neither is
        verdict, reason = supervise.verdict(outcome, job)
        notebook.reason, notebook.failing_cell = reason, outcome.failing_cell
        notebook.seconds = round(outcome.seconds, 3)
        _keep_executed(job, outcome, notebook, verdict)
        _keep_environment(job, outcome, run)
        notebook.status = verdict
        status.save(folder, run)
    progress.end(notebook)


def _job(
    folder: Path, run: RunStatus, notebook: NotebookStatus, left: float
) -> supervise.Job:
    place = folder / notebook.name
    _set_aside(place)
    place.mkdir()
    caches = folder.parent / ".cache"
    caches.mkdir(exist_ok=True)
    return supervise.Job(
        input=Path(notebook.path),
        output=place / f".{notebook.name}.running.ipynb",
        folder=place,
        parameters=notebook.parameters,
        deadline=min(run.deadline, left),
        environment=os.environ
        | {
            "SERIES_RESULTS": str(place),
            # neither a user's start-up files nor an earlier run's caches matter
            "IPYTHONDIR": str(caches / "ipython"),
            "MPLCONFIGDIR": str(caches / "matplotlib"),
            "TORCHINDUCTOR_CACHE_DIR": str(place / ".cache" / "inductor"),
        },
    )


def _set_aside(place: Path) -> None:
    """Keep what an earlier attempt left."""
    if place.exists():
        attempts = place.parent / "attempts"
        attempts.mkdir(exist_ok=True)
        count = len(list(attempts.glob(f"{place.name}-*")))
        place.rename(attempts / f"{place.name}-{count + 1}")


def _keep_executed(
    job: supervise.Job,
    outcome: supervise.Outcome,
    notebook: NotebookStatus,
    verdict: str = status.INTERRUPTED,
) -> None:
    """Save the executed notebook with the truth in its metadata.

    papermill marks every cell "completed" after a dead kernel or a timeout.
    """
    book = _executed(job, outcome)
    book["metadata"].pop("papermill", None)
    book["metadata"]["series_run"] = {
        "status": verdict,
        "reason": notebook.reason,
        "failing_cell": notebook.failing_cell,
        "parameters": notebook.parameters,
    }
    status.write(job.folder / f"{notebook.name}.ipynb", json.dumps(book, indent=1))
    job.output.unlink(missing_ok=True)
    (job.folder / "job.json").unlink(missing_ok=True)


def _executed(job: supervise.Job, outcome: supervise.Outcome) -> dict:
    """What papermill saved, if it is whole; else the notebook as it was given."""
    try:
        book = json.loads(job.output.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return json.loads(job.input.read_text(encoding="utf-8"))
    book["cells"] = [c for c in book["cells"] if MARK not in _tags(c)]
    for index in outcome.code_cells:
        metadata = book["cells"][index]["metadata"]
        metadata.setdefault("papermill", {})["status"] = outcome.cell_state(index)
    return book


def _tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def _keep_environment(
    job: supervise.Job, outcome: supervise.Outcome, run: RunStatus
) -> None:
    seen = {"machine": run.machine, "kernel": outcome.environment}
    status.write(job.folder / "environment.json", json.dumps(seen, indent=1))


def _expected(folder: Path, run: RunStatus, notebook: NotebookStatus) -> float | None:
    """Seconds that the newest passed run of this profile on this chip took."""
    for path in sorted(folder.parent.glob(f"*/{status.FILE}"), reverse=True):
        try:
            other = status.load(path.parent)
        except RunError:
            continue
        if (other.profile, other.machine["chip"]) != (run.profile, run.machine["chip"]):
            continue
        for entry in other.notebooks:
            if (entry.name, entry.status) == (notebook.name, status.PASSED):
                return entry.seconds
    return None


WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _signals() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end the run in order; a second one changes nothing."""

    def interrupt(number, frame):
        for each in WATCHED:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    supervise.adopt_orphans()
    old = {number: signal.signal(number, interrupt) for number in WATCHED}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait until the block is done."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

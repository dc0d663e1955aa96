"""Start a worker process for a step, ask it, stop and continue it, end it."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from multiprocessing import Pipe
from pathlib import Path

import cloudpickle
import psutil

from helpers import preload

# Set per step and never inherited from the notebook: each changes what is measured.
OWNED = (
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_DEFAULT_FPMATH_MODE",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "LRU_CACHE_CAPACITY",
    "THP_MEM_ALLOC_ENABLE",
    "TORCHINDUCTOR_FREEZING",
)


_HELPERS = str(Path(__file__).parent)


class StepFailed(RuntimeError):
    """A step could not be built, run or asked; the message says why."""


class Remote:
    """One live worker process. Stopped (SIGSTOP) except while it answers."""

    def __init__(self, step, model: str, batch_size: int, weights: str):
        self.step = step
        _travel_by_value(step.build)
        job = cloudpickle.dumps((step, model, batch_size, weights))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `end`)
        ours, theirs = Pipe()
        cores = ",".join(map(str, step.cores or ()))
        self._process = subprocess.Popen(
            [
                *(step.python or sys.executable, "-m", "helpers.worker"),
                *(str(theirs.fileno()), cores),
            ],
            pass_fds=[theirs.fileno()],
            env=environment(step),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        theirs.close()
        self._connection = ours
        self._groups = {self._process.pid}
        self._send(job)
        self._send(("prepare", {}))

    def prepared(self, *, timeout: float) -> None:
        """Wait for the imports that start with the process; several may overlap."""
        self._answer("prepare", timeout)

    def build(self, *, timeout: float) -> dict[str, float]:
        """Build the step in the worker; seconds of building and of the first call."""
        seconds = self.ask("build", timeout=timeout)
        # what the step started may be in sessions of its own (torchrun's workers are)
        for process in self._tree():
            with contextlib.suppress(ProcessLookupError):
                self._groups.add(os.getpgid(process.pid))
        return seconds

    def ask(self, verb: str, *, timeout: float, **arguments):
        """The worker's answer to one request; raises StepFailed with the reason."""
        self._signal(signal.SIGCONT)
        self._send((verb, arguments))
        return self._answer(verb, timeout)

    def _answer(self, verb: str, timeout: float):
        try:
            if not self._connection.poll(timeout):
                raise StepFailed(f"no answer to {verb} in {timeout:.0f} s; ended")
            status, value = cloudpickle.loads(self._connection.recv_bytes())
        except (EOFError, ConnectionError) as gone:
            raise StepFailed(self._why_it_died()) from gone
        finally:
            self._signal(signal.SIGSTOP)
        if status == "error":
            raise StepFailed(_explain(value))
        return value

    def end(self) -> None:
        """Kill the worker and everything it started."""
        for process in reversed(self._tree()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._signal(signal.SIGKILL)  # what has lost its parent is still in its group
        self._process.wait()
        self._connection.close()
        self._log.close()

    def log(self) -> str:
        """The last lines the worker printed."""
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 4000))
        return self._log.read().decode(errors="replace").strip()

    def _send(self, message) -> None:
        try:
            self._connection.send(message)
        except ConnectionError as gone:
            raise StepFailed(self._why_it_died()) from gone

    def _signal(self, number: int) -> None:
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)

    def _tree(self) -> list[psutil.Process]:
        try:
            parent = psutil.Process(self._process.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _why_it_died(self) -> str:
        try:
            code = self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            return "stopped answering"
        said = [line for line in self.log().splitlines() if line.strip()][-1:]
        words = f"; it last printed: {said[0]}" if said else ""
        if code == -signal.SIGKILL:
            return "killed (SIGKILL): out of memory, or ended by someone"
        who = f"{self.step.python} " if self.step.python else ""
        if code < 0:
            return f"{who}died of {signal.Signals(-code).name}{words}"
        return f"{who}ended with status {code}{words}"


def environment(step) -> dict[str, str]:
    """The whole environment of a step's process."""
    env = {k: v for k, v in os.environ.items() if k not in OWNED}
    threads = step.threads or len(step.cores or os.sched_getaffinity(0))
    env["OMP_NUM_THREADS"] = str(threads)
    # another interpreter has no editable install of this repository; the same one also
    # gets the folders that a build function's module may import from
    paths = [str(Path(__file__).parent.parent), *([] if step.python else sys.path)]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    if step.preload:
        env["LD_PRELOAD"] = preload.find(step.preload)
    return env | step.env


def _travel_by_value(build) -> None:
    """A module beside the notebook cannot be imported by the worker: send its code."""
    module = sys.modules.get(getattr(build, "__module__", ""))
    path = getattr(module, "__file__", None)
    installed = (sys.prefix, sys.base_prefix, _HELPERS)
    if module is not None and path and not path.startswith(installed):
        cloudpickle.register_pickle_by_value(module)


def _explain(error: str) -> str:
    memory = ("can't allocate memory", "MemoryError", "std::bad_alloc")
    return f"out of memory ({error})" if any(m in error for m in memory) else error

"""Start a worker process for a step, ask it, stop and continue it, end it."""

import getpass
import os
import sys
import tempfile
from multiprocessing import Pipe
from pathlib import Path

import cloudpickle

from helpers import cores, machine, preload
from helpers.family import Family, how_it_ended
from helpers.memory import Memory
from helpers.proof import Finding

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
        job = pack(step, model, batch_size, weights)
        self._connection, theirs = Pipe()
        self._family = Family(
            command(step, step.cores and [step.cores], "--pipe", theirs.fileno()),
            env=environment(step),
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._send(job)

    def prepared(self, *, timeout: float) -> None:
        """Wait for the imports that start with the process; several may overlap."""
        self._answer("prepare", timeout)

    def build(self, *, timeout: float) -> dict[str, float]:
        """Build the step in the worker; seconds of building and of the first call."""
        seconds = self.ask("build", timeout=timeout)
        self._family.adopt()
        return seconds

    def warm_up(self, *, timeout: float, limit: float) -> list[float]:
        return self.ask("warm_up", timeout=timeout, limit=limit)

    def round(self, count: int, *, timeout: float) -> dict:
        """Seconds of the call after the rest, and of `count` samples."""
        return self.ask("round", timeout=timeout, count=count)

    def memory(self) -> list[Memory]:
        return [self.ask("memory", timeout=60)]

    def prove(self) -> list[Finding]:
        return self.ask("prove", timeout=600)

    def outputs(self) -> list:
        """The output of one more call, an array of shape (images, classes)."""
        return [self.ask("output", timeout=600)]

    def reference(self, batch_size: int):
        return self.ask("reference", timeout=600, batch_size=batch_size)

    def ask(self, verb: str, *, timeout: float, **arguments):
        """The worker's answer to one request; raises StepFailed with the reason."""
        self._family.resume()
        self._send((verb, arguments))
        return self._answer(verb, timeout)

    def _answer(self, verb: str, timeout: float):
        timeout = machine.patience(timeout)
        try:
            if not self._connection.poll(timeout):
                raise StepFailed(f"no answer to {verb} in {timeout:.0f} s; ended")
            return opened(self._connection.recv_bytes())
        except (EOFError, ConnectionError) as gone:
            raise StepFailed(self._why_it_died()) from gone
        finally:
            self._family.stop()

    def end(self) -> None:
        """Kill the worker and everything it started."""
        self._family.end()
        self._connection.close()

    def _send(self, message) -> None:
        try:
            self._connection.send(message)
        except ConnectionError as gone:
            raise StepFailed(self._why_it_died()) from gone

    def _why_it_died(self) -> str:
        who = f"{self.step.python} " if self.step.python else ""
        code = self._family.exit_code(timeout=30)
        return how_it_ended(code, self._family.log(), who)


def pack(step, model: str, batch_size: int, weights: str) -> bytes:
    """The job of a worker; raises what pickle raises if a step cannot travel."""
    _travel_by_value(step.build)
    return cloudpickle.dumps((step, model, batch_size, weights))


def command(step, shares, how: str, where) -> list[str]:
    """The command line of a worker; see `helpers.worker`."""
    python = step.python or sys.executable
    pinning = cores.written(shares or [])
    return [python, "-m", "helpers.worker", pinning, how, str(where)]


def opened(answer: bytes):
    """What a worker answered; raises StepFailed if that was an error."""
    status, value = cloudpickle.loads(answer)
    if status == "error":
        raise StepFailed(_explain(value))
    return value


def environment(step) -> dict[str, str]:
    """The whole environment of a step's process."""
    env = {k: v for k, v in os.environ.items() if k not in OWNED}
    held = len(step.cores or os.sched_getaffinity(0))
    env["OMP_NUM_THREADS"] = str(step.threads or max(1, held // step.processes))
    # another interpreter has no editable install of this repository; the same one also
    # gets the folders that a build function's module may import from
    paths = [str(Path(__file__).parent.parent), *([] if step.python else sys.path)]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # Inductor's own default is in the temporary folder, and that ends with the step
    cache = Path(tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}")
    env.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache))
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

"""The process at the other end of a race: builds one step and answers requests.

Started by `helpers.remote` as ``python -m helpers.worker FD`` with the step's
environment already set, because oneDNN, OpenMP and allocators read theirs once.
"""

import ctypes
import os
import re
import signal
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import cloudpickle
import numpy as np

from helpers.sampling import sample, take, warm_up


class Worker:
    """One step, built once; each public method answers one kind of request."""

    def __init__(self, step, model: str, batch_size: int, weights: str):
        self.step, self.model = step, model
        self.batch_size = step.batch_size or batch_size
        self.weights = weights

    def prepare(self) -> None:
        """Import torch and make the model: the part that no step is timed for."""
        import torch

        from helpers import models

        torch.set_grad_enabled(False)
        self.inputs = (
            models.make(self.model, weights=self.weights),
            models.images(self.model, self.batch_size),
        )

    def build(self) -> dict[str, float]:
        """Build the step and call it once; seconds of each, apart."""
        start = time.perf_counter()
        self.fn = self.step.build(*self.inputs)
        built = time.perf_counter()
        if not callable(self.fn):
            raise TypeError(
                f"build function of step {self.step.name!r} returned "
                f"{type(self.fn).__name__}; it must return a function to be timed"
            )
        del self.inputs  # what the step does not keep is not its memory
        self.fn()
        return {
            "build_seconds": built - start,
            "first_call_seconds": time.perf_counter() - built,
        }

    def warm_up(self, limit: float) -> list[float]:
        return warm_up(self.fn, limit=limit)

    def round(self, count: int) -> dict[str, list[float]]:
        """`count` samples after one warm-up call (the process was stopped before)."""
        first = sample(self.fn)
        return {"warm_ups": [first], "samples": take(self.fn, count=count)}

    def prove(self) -> list:
        from helpers.proof import Witness

        witness = Witness(self.fn, cores=self.step.cores)
        return [proof(witness) for proof in self.step.proofs]

    def output(self) -> np.ndarray:
        return as_array(self.fn())

    def peak_mib(self) -> float:
        """The most memory this process has held, in MiB (VmHWM)."""
        status = Path("/proc/self/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def reference(self, batch_size: int) -> np.ndarray:
        from helpers import models

        return models.reference(self.model, batch_size, weights=self.weights)


def as_array(output) -> np.ndarray:
    """The first tensor of whatever a runtime returned, as a float32 array."""
    if isinstance(output, dict):
        output = next(iter(output.values()))
    while isinstance(output, (list, tuple)):
        output = output[0]
    if hasattr(output, "detach"):
        output = output.detach().float().cpu().numpy()
    return np.asarray(output, dtype=np.float32)


def serve(connection: Connection) -> None:
    """Answer requests (verb, arguments) until "quit" or the other end is gone."""
    worker = Worker(*cloudpickle.loads(connection.recv()))
    while True:
        verb, arguments = connection.recv()
        if verb == "quit":
            return
        try:
            answer = ("ok", getattr(worker, verb)(**arguments))
        except BaseException as problem:
            # whatever a step does wrong, the race must hear of it
            traceback.print_exc()
            answer = ("error", f"{type(problem).__name__}: {problem}")
        connection.send_bytes(cloudpickle.dumps(answer))


def _die_with_parent() -> None:
    """A worker must not outlive its race, even when the notebook is killed."""
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG, linux/prctl.h
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _pin(cores: str) -> None:
    if cores:
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})


if __name__ == "__main__":
    _die_with_parent()
    _pin(sys.argv[2])
    # a child that kept the pipe would hide this process's death from the race
    os.set_inheritable(int(sys.argv[1]), False)
    try:
        serve(Connection(int(sys.argv[1])))
    except EOFError:
        sys.exit("the race is gone")

"""The process at the other end of a race: builds one step and answers requests.

Started by `helpers.remote` as ``python -m helpers.worker CORES --pipe FD``, or by
torchrun for `helpers.team` with ``--join FOLDER``, with the step's environment already
set, because oneDNN, OpenMP and allocators read theirs once. For the same reason nothing
heavy is imported here before the process is pinned.
"""

import os
import socket
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import cloudpickle

from helpers import cores, tether
from helpers.memory import Memory, memory_of
from helpers.sampling import counted, sample, take, warm_up
from helpers.window import Call, fill


class Worker:
    """One step, built once; each public method answers one kind of request."""

    def __init__(self, pinned_to: cores.Cores, step, model, batch_size, weights):
        self.step, self.model = step, model
        self.cores = pinned_to
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
            "build_seconds": counted(built - start),
            "first_call_seconds": counted(time.perf_counter() - built),
        }

    def warm_up(self, limit: float) -> list[float]:
        return warm_up(self.fn, limit=limit)

    def round(self, count: int) -> dict[str, list[float]]:
        """`count` samples after one warm-up call (the process was stopped before)."""
        first = sample(self.fn)
        return {"warm_ups": [first], "samples": take(self.fn, count=count)}

    def call(self) -> float:
        return sample(self.fn)

    def window(self, opens: float, seconds: float) -> list[Call]:
        """Call until a window that all processes share is over; see `helpers.window`"""
        return fill(self.fn, opens=opens, seconds=seconds)

    def memory(self) -> Memory:
        return memory_of("process", os.getpid())

    def prove(self) -> list:
        from helpers.proof import Witness

        witness = Witness(self.fn, cores=self.cores)
        return [proof(witness) for proof in self.step.proofs]

    def output(self):
        return as_array(self.fn())

    def reference(self, batch_size: int):
        from helpers import models

        return models.reference(self.model, batch_size, weights=self.weights)


def as_array(output):
    """The first tensor of whatever a runtime returned, as a float32 array."""
    import numpy as np

    if isinstance(output, dict):
        output = next(iter(output.values()))
    while isinstance(output, (list, tuple)):
        output = output[0]
    if hasattr(output, "detach"):
        output = output.detach().float().cpu().numpy()
    return np.asarray(output, dtype=np.float32)


def serve(connection: Connection, job: tuple, pinned_to: cores.Cores) -> None:
    """Prepare, then answer requests (verb, arguments) until the other end is gone."""
    worker = Worker(pinned_to, *job)
    verb: str = "prepare"
    arguments: dict = {}
    while True:
        try:
            answer = ("ok", getattr(worker, verb)(**arguments))
        except BaseException as problem:
            # whatever a step does wrong, the race must hear of it
            traceback.print_exc()
            answer = ("error", f"{type(problem).__name__}: {problem}")
        connection.send_bytes(cloudpickle.dumps(answer))
        verb, arguments = connection.recv()


def _pipe(number: int) -> tuple[Connection, tuple]:
    """The race is at the other end of an inherited pipe, and the job is in it."""
    # a child that kept the pipe would hide this process's death from the race
    os.set_inheritable(number, False)
    connection = Connection(number)
    return connection, cloudpickle.loads(connection.recv())


def _join(folder: Path, rank: int) -> tuple[Connection, tuple]:
    """torchrun passes no pipe on: meet the race at its socket, and say who this is."""
    end = socket.socket(socket.AF_UNIX)
    end.connect(str(folder / "socket"))
    connection = Connection(end.detach())
    connection.send((rank, os.getpid()))
    return connection, cloudpickle.loads((folder / "job").read_bytes())


if __name__ == "__main__":
    tether.to_parent()
    _, written, how, where = sys.argv
    rank = int(os.environ["LOCAL_RANK"]) if how == "--join" else 0
    pinned_to = cores.pin(written, rank)
    met = _join(Path(where), rank) if how == "--join" else _pipe(int(where))
    try:
        serve(*met, pinned_to)
    except EOFError:
        sys.exit("the race is gone")

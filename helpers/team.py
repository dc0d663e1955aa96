"""Run a step in several pinned processes that torchrun starts, as if it were one.

Used like `helpers.remote.Remote`, one request at a time. First used in notebook
12_graviton_multiprocess.
"""

import os
import re
import signal
import socket
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from helpers import cores, machine
from helpers.family import Family, how_it_ended
from helpers.memory import Memory, memory_of
from helpers.proof import Finding
from helpers.remote import StepFailed, command, environment, opened, pack
from helpers.window import Window

LEAD = 0.02  # seconds from announcing a window to opening it: every process is told
TRIES = 5  # a busy machine may give no process any time in a short window
# torchrun writes this when one of its processes has ended
FAILED = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")


class Team:
    """The live processes of one step. All are stopped except while they answer."""

    def __init__(self, step, model: str, batch_size: int, weights: str):
        self.step = step
        held = step.cores or sorted(os.sched_getaffinity(0))
        self.shares = cores.shares(held, step.processes)
        job = pack(step, model, batch_size, weights)
        self._folder = tempfile.TemporaryDirectory(prefix="race-")
        folder = Path(self._folder.name)
        (folder / "job").write_bytes(job)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / "socket"))
        self._socket.listen(step.processes)
        self._connections: dict[int, Connection] = {}
        self.pids: dict[int, int] = {}
        self._family = Family(self._torchrun(folder), env=environment(step))

    def _torchrun(self, folder: Path) -> list[str]:
        worker = command(self.step, self.shares, "--join", folder)[1:]
        # no rendezvous that counts heartbeats: a stopped process has none
        rendezvous = "--rdzv-backend static --master-addr 127.0.0.1 --master-port 0"
        return [
            *(sys.executable, "-m", "helpers.tether"),
            *(self.step.python or sys.executable, "-m", "torch.distributed.run"),
            *("--nnodes", "1", "--nproc-per-node", str(self.step.processes)),
            *rendezvous.split(),
            *("--max-restarts", "0", "--log-dir", str(folder), "--redirects", "3"),
            *worker,
        ]

    @property
    def launcher(self) -> int:
        """The process id of torchrun."""
        return self._family.pid

    def prepared(self, *, timeout: float) -> None:
        """Wait until every process has joined and imported what it needs."""
        end = time.monotonic() + machine.patience(timeout)
        self._socket.settimeout(0.2)
        try:
            while len(self._connections) < self.step.processes:
                self._join(end)
            self._answers("prepare", end - time.monotonic())
        finally:
            self._family.adopt()
            self._family.stop()

    def _join(self, end: float) -> None:
        try:
            joining, _ = self._socket.accept()
        except TimeoutError:
            if not self._family.running:
                raise StepFailed(self._why_it_died()) from None
            if time.monotonic() > end:
                raise StepFailed("a process did not start in time; ended") from None
            return
        joining.setblocking(True)
        connection = Connection(joining.detach())
        try:
            rank, pid = connection.recv()
        except (EOFError, ConnectionError) as gone:
            raise StepFailed(self._why_it_died()) from gone
        self._connections[rank], self.pids[rank] = connection, pid

    def build(self, *, timeout: float) -> dict[str, float]:
        """All build at once; the seconds of the slowest."""
        found = self.ask("build", timeout=timeout)
        self._family.adopt()
        return {key: max(seconds[key] for seconds in found) for key in found[0]}

    def warm_up(self, *, timeout: float, limit: float) -> list[float]:
        """All warm up at once, each until it is steady; the calls of all of them."""
        found = self.ask("warm_up", timeout=timeout, limit=limit)
        self._pace = statistics.median(calls[-1] for calls in found)
        return [seconds for calls in found for seconds in calls]

    def round(self, count: int, *, timeout: float) -> dict:
        """A call of each after the rest, then a window of about `count` calls each.

        The one sample of the round is the window's seconds a call.
        """
        self._family.resume()
        try:
            firsts = self._request("call", timeout)
            window = self._window(round(count * self._pace, 6), timeout)
        finally:
            self._family.stop()
        samples = [window.seconds_a_call]
        return {"warm_ups": firsts, "samples": samples, "windows": [window]}

    def _window(self, seconds: float, timeout: float) -> Window:
        for _ in range(TRIES):
            opens = time.monotonic() + LEAD
            made = self._request("window", timeout, opens=opens, seconds=seconds)
            window = Window(seconds, tuple(map(tuple, made)))
            if window.done:
                return window
        raise StepFailed(f"got no time to run in {TRIES} windows of {seconds:.3f} s")

    def memory(self) -> list[Memory]:
        """Of every process, and of torchrun, which only waits."""
        found = [memory_of(self._who(r), pid) for r, pid in sorted(self.pids.items())]
        return [*found, memory_of("torchrun", self.launcher)]

    def prove(self) -> list[Finding]:
        """What each proof saw in each process: it must hold in all of them."""
        return [
            replace(finding, proof=f"{finding.proof}, {self._who(rank)}")
            for rank, findings in enumerate(self.ask("prove", timeout=600))
            for finding in findings
        ]

    def outputs(self) -> list:
        """The output of one more call of each process."""
        return self.ask("output", timeout=600)

    def ask(self, verb: str, *, timeout: float, **arguments) -> list:
        """Every process's answer, by rank; raises StepFailed if one has none."""
        self._family.resume()
        try:
            return self._request(verb, timeout, **arguments)
        finally:
            self._family.stop()

    def _request(self, verb: str, timeout: float, **arguments) -> list:
        for connection in self._connections.values():
            try:
                connection.send((verb, arguments))
            except ConnectionError as gone:
                raise StepFailed(self._why_it_died()) from gone
        return self._answers(verb, timeout)

    def _answers(self, verb: str, timeout: float) -> list:
        timeout = machine.patience(timeout)
        end = time.monotonic() + timeout
        found: dict[int, Any] = {}
        while waiting := self._connections.keys() - found.keys():
            left = max(0.0, end - time.monotonic())
            ready = wait([self._connections[rank] for rank in waiting], left)
            if not ready:
                raise StepFailed(f"no answer to {verb} in {timeout:.0f} s; ended")
            for rank in sorted(waiting):
                if self._connections[rank] in ready:
                    found[rank] = self._read(rank)
        return [found[rank] for rank in sorted(found)]

    def _read(self, rank: int):
        try:
            answer = self._connections[rank].recv_bytes()
        except (EOFError, ConnectionError) as gone:
            raise StepFailed(self._why_it_died()) from gone
        try:
            return opened(answer)
        except StepFailed as failed:
            raise StepFailed(f"{self._who(rank)}: {failed}") from failed

    def end(self) -> None:
        """Kill torchrun, its processes and everything they started."""
        self._family.end()
        for connection in self._connections.values():
            connection.close()
        self._socket.close()
        self._folder.cleanup()

    def log(self, rank: int) -> str:
        """What a process printed."""
        files = sorted(Path(self._folder.name).glob(f"*/attempt_0/{rank}/std*.log"))
        return "\n".join(file.read_text(errors="replace") for file in files).strip()

    def _who(self, rank: int) -> str:
        return f"process {rank + 1} of {self.step.processes}"

    def _why_it_died(self) -> str:
        # torchrun must run to see that a process of its own has ended
        self._family.resume()
        code = self._family.exit_code(timeout=60)
        if found := FAILED.search(self._family.log()):
            status, rank = map(int, found.groups())
            return f"{self._who(rank)}: {how_it_ended(status, self.log(rank))}"
        if code == -signal.SIGKILL:
            return f"torchrun was {how_it_ended(code, '')}"
        return how_it_ended(code, self._family.log(), "torchrun ")

"""A started process and all it starts: stop, continue and end them together."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence

import psutil


class Family:
    """One process in a session of its own, and whatever it has started since.

    Temporary files that they leave behind (exported models, say) end with them.
    """

    def __init__(
        self, command: Sequence[str], *, env: dict[str, str], pass_fds: Sequence = ()
    ):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `end`)
        self._scratch = tempfile.TemporaryDirectory(
            prefix="step-", ignore_cleanup_errors=True
        )
        self._process = subprocess.Popen(
            command,
            pass_fds=pass_fds,
            env=env | {"TMPDIR": self._scratch.name},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._groups = {self._process.pid}

    @property
    def pid(self) -> int:
        """Of the process that was started first."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def adopt(self) -> None:
        """Look for members in sessions of their own (torchrun's workers are)."""
        for process in self._tree():
            with contextlib.suppress(ProcessLookupError):
                self._groups.add(os.getpgid(process.pid))

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill every member."""
        for process in reversed(self._tree()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._signal(signal.SIGKILL)  # what has lost its parent is still in its group
        self._process.wait()
        self._log.close()
        self._scratch.cleanup()

    def exit_code(self, *, timeout: float) -> int | None:
        """How the first process ended (as subprocess says it); None if it has not."""
        try:
            return self._process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            return None

    def log(self) -> str:
        """The last lines that the family printed."""
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 4000))
        return self._log.read().decode(errors="replace").strip()

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


def how_it_ended(code: int | None, said: str, who: str = "") -> str:
    """Why a process is gone, from its exit code and the last that it printed."""
    lines = [line for line in said.splitlines() if line.strip()][-1:]
    words = f"; it last printed: {lines[0]}" if lines else ""
    if code is None:
        return "stopped answering"
    if code == -signal.SIGKILL:
        return "killed (SIGKILL): out of memory, or ended by someone"
    if code < 0:
        return f"{who}died of {signal.Signals(-code).name}{words}"
    return f"{who}ended with status {code}{words}"

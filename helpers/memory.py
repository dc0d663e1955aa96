"""How much memory a process holds, and how much of it others hold as well."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Memory:
    """One process of a step, in MiB.

    `peak` is the most it has held (VmHWM). Of what it holds now, `private` is its
    alone and `shared` is also mapped by other processes: the pages of the libraries.
    """

    process: str
    peak: float
    private: float
    shared: float


def memory_of(process: str, pid: int) -> Memory:
    """The memory of a live process from /proc; zeros where the kernel tells nothing."""
    status = _read(pid, "status")
    now = _read(pid, "smaps_rollup")
    private = _mib(now, "Private_Clean") + _mib(now, "Private_Dirty")
    return Memory(
        process,
        peak=_mib(status, "VmHWM"),
        private=private,
        shared=max(0.0, _mib(now, "Rss") - private),
    )


def together(processes: Sequence[Memory]) -> float:
    """MiB that processes hold now, the pages that they share counted once.

    A sum over the processes counts the libraries once for each of them.
    """
    shared = max((m.shared for m in processes), default=0.0)
    return sum(m.private for m in processes) + shared


def _mib(text: str, field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""

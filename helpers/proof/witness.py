"""What a proof is, and what it may look at."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from helpers import onednn_log


@dataclass(frozen=True)
class Finding:
    """What one proof saw: `holds` says whether the optimisation is in effect."""

    proof: str
    holds: bool
    saw: str


@dataclass(frozen=True)
class Proof:
    """One check that runs inside the step's process, after its rounds."""

    name: str
    look: Callable[["Witness"], tuple[bool, str]]

    def __call__(self, witness: "Witness") -> Finding:
        holds, saw = self.look(witness)
        return Finding(self.name, bool(holds), saw)


class Witness:
    """What a proof may look at: the step's function, and its process.

    `fn` is the step's function (it can be called once more), `cores` the cores the
    step asked for, if any.
    """

    def __init__(self, fn: Callable[[], object], cores: tuple[int, ...] | None = None):
        self.fn = fn
        self.cores = cores

    @cached_property
    def onednn(self) -> list[onednn_log.Primitive]:
        """The oneDNN primitives of one more call."""
        return onednn_log.parse(self.onednn_text)

    @cached_property
    def onednn_text(self) -> str:
        """oneDNN's verbose output of one more call."""
        return onednn_log.capture(self.fn)

    @cached_property
    def maps(self) -> str:
        return Path("/proc/self/maps").read_text()

    @cached_property
    def huge_mib(self) -> float:
        """Memory of this process in transparent huge pages, in MiB."""
        text = Path("/proc/self/smaps_rollup").read_text()
        found = re.search(r"^AnonHugePages:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

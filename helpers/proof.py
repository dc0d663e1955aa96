"""Evidence, read from the running process, that a step's optimisation is in effect.

A proof is a name and a function from `Witness` to `Finding`. It returns what it saw;
an optimisation that is not in effect is a result, never an exception.
First used in notebook 09_graviton_batching.
"""

import os
import re
from collections import Counter
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
        """The oneDNN primitives of one more call, from its verbose output."""
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


def tcmalloc_loaded() -> Proof:
    """TCMalloc is mapped into the process. LD_PRELOAD alone proves nothing."""

    def look(witness: Witness) -> tuple[bool, str]:
        names = {Path(n).name for n in re.findall(r"/\S*tcmalloc\S*", witness.maps)}
        if names:
            return True, f"{', '.join(sorted(names))} is mapped"
        return False, "no tcmalloc in /proc/self/maps"

    return Proof("tcmalloc loaded", look)


def huge_pages(min_mib: float = 8) -> Proof:
    """At least `min_mib` MiB of the process's memory is in transparent huge pages."""

    def look(witness: Witness) -> tuple[bool, str]:
        return witness.huge_mib >= min_mib, f"{witness.huge_mib:.0f} MiB in huge pages"

    return Proof("huge pages", look)


def pinned() -> Proof:
    """The process may run on the step's cores and on no others."""

    def look(witness: Witness) -> tuple[bool, str]:
        may = sorted(os.sched_getaffinity(0))
        asked = sorted(witness.cores or ())
        return may == asked, f"may run on cores {may}, asked for {asked or 'none'}"

    return Proof("pinned", look)


def compiled(graph_breaks: int = 0) -> Proof:
    """Dynamo captured the model, Inductor compiled it, with at most so many breaks."""

    def look(witness: Witness) -> tuple[bool, str]:
        from torch._dynamo.utils import counters

        graphs = counters["stats"]["unique_graphs"]
        breaks = sum(counters["graph_break"].values())
        inductor = sum(counters["inductor"].values())
        saw = f"{graphs} graphs, {breaks} graph breaks, {inductor} Inductor events"
        return graphs > 0 and inductor > 0 and breaks <= graph_breaks, saw

    return Proof("compiled", look)


# oneDNN's tag of a tensor whose channels come last
LAYOUTS = {"nhwc": "acdb", "nchw": "abcd"}


def onednn(*, layout: str | None = None, dtype: str | None = None) -> Proof:
    """oneDNN ran the convolutions in this layout and data type, none by a `ref` kernel.

    Read from the verbose lines of one more call: the layout of each convolution's
    source and the reorders of activations, the data type of its weights (the fpmath
    attribute is printed even where it does nothing), the implementation's name.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        convolutions = [p for p in witness.onednn if p.kind == "convolution"]
        if not convolutions:
            return False, "oneDNN ran no convolution"
        checks = [_no_reference(convolutions)]
        if layout is not None:
            checks.append(_in_layout(witness.onednn, convolutions, LAYOUTS[layout]))
        if dtype is not None:
            checks.append(_in_dtype(convolutions, dtype))
        return all(ok for ok, _ in checks), "; ".join(saw for _, saw in checks)

    wanted = ", ".join(w for w in (layout, dtype) if w) or "any"
    return Proof(f"oneDNN {wanted}", look)


def _no_reference(convolutions) -> tuple[bool, str]:
    names = Counter(p.implementation for p in convolutions)
    listed = ", ".join(f"{n} {name}" for name, n in names.most_common())
    return not any("ref" in name for name in names), f"convolutions: {listed}"


def _in_layout(primitives, convolutions, tag: str) -> tuple[bool, str]:
    right = sum(p.source_tag == tag for p in convolutions)
    reorders = sum(p.moves_activations for p in primitives)
    saw = f"{right} of {len(convolutions)} read {tag}, {reorders} activation reorders"
    return right == len(convolutions) and reorders == 0, saw


def _in_dtype(convolutions, dtype: str) -> tuple[bool, str]:
    right = sum(p.weights_dtype == dtype for p in convolutions)
    return right == len(convolutions), f"{right} of {len(convolutions)} weights {dtype}"

"""Proofs about the process: its allocator, its pages, its cores."""

import os
import re
from pathlib import Path

from helpers.proof.witness import Proof, Witness


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
        saw = f"{witness.huge_mib:.0f} MiB in huge pages (kernel: {_kernel_mode()})"
        return witness.huge_mib >= min_mib, saw

    return Proof("huge pages", look)


KERNEL = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def _kernel_mode() -> str:
    """To whom the kernel gives huge pages: always, to who asks (madvise), never."""
    text = KERNEL.read_text() if KERNEL.exists() else ""
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else "has none"


def pinned() -> Proof:
    """The process may run on the step's cores and on no others."""

    def look(witness: Witness) -> tuple[bool, str]:
        may = sorted(os.sched_getaffinity(0))
        asked = sorted(witness.cores or ())
        return may == asked, f"may run on cores {may}, asked for {asked or 'none'}"

    return Proof("pinned", look)

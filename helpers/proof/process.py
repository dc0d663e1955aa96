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
        return witness.huge_mib >= min_mib, f"{witness.huge_mib:.0f} MiB in huge pages"

    return Proof("huge pages", look)


def pinned() -> Proof:
    """The process may run on the step's cores and on no others."""

    def look(witness: Witness) -> tuple[bool, str]:
        may = sorted(os.sched_getaffinity(0))
        asked = sorted(witness.cores or ())
        return may == asked, f"may run on cores {may}, asked for {asked or 'none'}"

    return Proof("pinned", look)

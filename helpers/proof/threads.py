"""Proofs about the threads of the process."""

import os
from pathlib import Path

from helpers.proof.witness import Proof, Witness


def pinned_threads() -> Proof:
    """Every thread may run on the step's cores and on no others.

    A thread inherits the cores of the one that starts it, at that moment: what was
    started before the pinning (by an import, say) is not pinned.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        witness.fn()  # the pool of threads is there after a call
        asked = set(witness.cores or ())
        threads = affinities()
        free = sum(cores != asked for cores in threads.values())
        saw = f"{free} of {len(threads)} may leave {sorted(asked) or 'no core'}"
        return bool(asked) and not free, f"{saw}, ran on {sorted(set(last_cores()))}"

    return Proof("pinned threads", look)


def affinities() -> dict[int, set[int]]:
    """Thread id -> the cores it may run on, for every thread of this process."""
    found: dict[int, set[int]] = {}
    for thread in map(int, os.listdir("/proc/self/task")):
        try:
            found[thread] = os.sched_getaffinity(thread)
        except ProcessLookupError:
            continue  # it has ended since
    return found


def last_cores() -> list[int]:
    """The core that each thread of this process ran on last."""
    cores = []
    for stat in Path("/proc/self/task").glob("*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        cores.append(int(fields[36]))  # the 39th, "processor": man 5 proc_pid_stat
    return cores

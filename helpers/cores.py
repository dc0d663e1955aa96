"""Divide cores among processes, and pin a process to its share."""

import os
from collections.abc import Sequence

Cores = tuple[int, ...]


def shares(cores: Sequence[int], processes: int) -> list[Cores]:
    """Disjoint shares of the cores, in their order and as equal as can be.

    Raises
    ------
    ValueError
        If there are more processes than cores: then no disjoint shares exist.
    """
    if processes > len(cores):
        raise ValueError(
            f"{processes} processes need {processes} cores, and there are {len(cores)}"
        )
    least, more = divmod(len(cores), processes)
    sizes = [least + (place < more) for place in range(processes)]
    return [
        tuple(cores[sum(sizes[:place]) : sum(sizes[: place + 1])])
        for place in range(processes)
    ]


def written(shares: Sequence[Cores]) -> str:
    """Shares as text for a command line: ``0,1;2,3``."""
    return ";".join(",".join(map(str, share)) for share in shares)


def pin(written: str, place: int = 0) -> Cores:
    """Pin this process to its share of what `written` gave; () pins it to nothing.

    Threads inherit it when they start, and a library counts its cores when it is
    imported: call this before numpy and torch are.
    """
    share = written.split(";")[place]
    cores = tuple(int(core) for core in share.split(",") if core)
    if cores:
        os.sched_setaffinity(0, cores)
    return cores

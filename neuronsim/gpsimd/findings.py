"""What the sanitiser found in one call of an operator, and how it says so."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from neuronsim.gpsimd.errors import GpSimdError

FATAL = frozenset({"null", "use-after-free", "crash", "check", "exception"})
_SHOWN_RANGES = 3


@dataclass(frozen=True)
class Finding:
    """One fault of an operator."""

    kind: str
    detail: str
    cores: tuple[int, ...] = ()
    file: str = ""
    line: int = 0
    first: int = 0  # range of elements (of bytes for a leak); empty if equal
    last: int = 0
    tensor: str = ""
    count: int = 1

    def __str__(self) -> str:
        where = f"{Path(self.file).name}:{self.line}" if self.file else "?"
        parts = [_cores(self.cores), where, f"{self.kind}: {self.detail}"]
        if self.tensor:
            parts.append(self.tensor)
        if self.last > self.first and self.kind not in ("leak", *_COVERAGE):
            parts.append(f"elements [{self.first}, {self.last})")
        if self.count > 1:
            parts.append(f"{self.count} times")
        return " · ".join(part for part in parts if part)


_COVERAGE = ("never-written", "written-twice")


@dataclass(frozen=True)
class Coverage:
    """How much of an output was written, and how much by more than one core."""

    total: int
    written: int
    twice: int

    @property
    def share_written(self) -> float:
        return self.written / self.total if self.total else 1.0

    @property
    def share_twice(self) -> float:
        return self.twice / self.total if self.total else 0.0

    def __str__(self) -> str:
        return (
            f"{self.written:,} of {self.total:,} output elements written "
            f"({self.share_written:.1%}), {self.twice:,} of them by more than one "
            f"core ({self.share_twice:.1%} of the output)"
        )


@dataclass(frozen=True)
class Counters:
    """What one core moved."""

    transfers_in: int
    transfers_out: int
    bytes_in: int
    bytes_out: int
    element_accesses: int
    stream_accesses: int
    tcm_peak: int


@dataclass(frozen=True)
class Report:
    """One call of an operator: findings, coverage, what each core moved.

    ``writers`` says of every output element how many cores wrote it (uint8).
    """

    operator: str
    findings: tuple[Finding, ...]
    coverage: Coverage | None  # None: written in a way nobody tracked
    counters: tuple[Counters, ...]
    printed: str = ""
    writers: np.ndarray | None = field(default=None, compare=False)

    def kinds(self) -> set[str]:
        """The kinds of fault that occurred."""
        return {finding.kind for finding in self.findings}

    def __str__(self) -> str:
        many = len(self.findings)
        title = f"{self.operator}: {many} finding{'s' if many != 1 else ''}"
        lines = [title if many else f"{self.operator}: no findings"]
        lines += [f"  {finding}" for finding in self.findings]
        if self.coverage:
            lines.append(f"  {self.coverage}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


class SanitizerError(GpSimdError):
    """An operator's call has findings; ``.report`` holds them."""

    def __init__(self, report: Report):
        super().__init__(str(report))
        self.report = report
        self.findings = report.findings


@dataclass(frozen=True)
class Writes:
    """Ranges of output elements, each written by one core from one line."""

    core: np.ndarray
    line: np.ndarray
    first: np.ndarray
    last: np.ndarray
    files: tuple[str, ...]  # one a range


def coverage(writes: Writes, by: np.ndarray) -> tuple[Coverage, list[Finding]]:
    """Which elements were written by no core, or by several (``by``: ``writers()``)."""
    findings = []
    if (by == 0).any():
        findings.append(_never_written(by == 0, writes))
    if (by > 1).any():
        findings.append(_written_twice(by > 1, writes))
    counts = Coverage(by.size, int((by > 0).sum()), int((by > 1).sum()))
    return counts, findings


def writers(writes: Writes, total: int) -> np.ndarray:
    """By how many cores was each element written? (total,) uint8."""
    cores = [writes.core == core for core in np.unique(writes.core)]
    spans = [_union(writes.first[mine], writes.last[mine]) for mine in cores]
    edges = np.concatenate([[0, total], *(np.concatenate(span) for span in spans)])
    steps = np.concatenate([[0, 0], *(np.repeat([1, -1], a.size) for a, _ in spans)])
    points, where = np.unique(edges, return_inverse=True)
    change = np.zeros(points.size, np.int64)
    np.add.at(change, where, steps)
    return np.repeat(np.cumsum(change)[:-1].astype(np.uint8), np.diff(points))


def _union(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the union of one core's ranges."""
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(last[order])
    begins = np.flatnonzero(np.append(True, first[1:] > reach[:-1]))
    return first[begins], reach[np.append(begins[1:], first.size) - 1]


def merged(findings: list[Finding]) -> tuple[Finding, ...]:
    """The same finding on several cores becomes one that names them all."""
    groups: dict[Finding, list[int]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, cores=()), []).extend(finding.cores)
    together = [
        replace(finding, cores=tuple(sorted(set(cores))))
        for finding, cores in groups.items()
    ]
    return tuple(sorted(together, key=lambda finding: finding.kind in _COVERAGE))


def _never_written(mask: np.ndarray, writes: Writes) -> Finding:
    ranges = _ranges(mask)
    file, line = (writes.files[0], int(writes.line[0])) if writes.files else ("", 0)
    return Finding(
        "never-written",
        f"{_amount(mask)} never written: {_listed(ranges)}",
        file=file,
        line=line,
        first=ranges[0][0],
        last=ranges[-1][1],
    )


def _written_twice(mask: np.ndarray, writes: Writes) -> Finding:
    ranges = _ranges(mask)
    edges = np.concatenate([[0], np.cumsum(mask)])
    guilty = edges[writes.last] > edges[writes.first]  # ranges that touch the mask
    where = int(np.flatnonzero(guilty)[0])
    return Finding(
        "written-twice",
        f"{_amount(mask)} written by more than one core: {_listed(ranges)}",
        cores=tuple(int(core) for core in np.unique(writes.core[guilty])),
        file=writes.files[where],
        line=int(writes.line[where]),
        first=ranges[0][0],
        last=ranges[-1][1],
    )


def _ranges(mask: np.ndarray) -> list[tuple[int, int]]:
    padded = np.concatenate([[False], mask, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _amount(mask: np.ndarray) -> str:
    return f"{int(mask.sum()):,} of {mask.size:,} output elements ({mask.mean():.1%})"


def _listed(ranges: list[tuple[int, int]]) -> str:
    shown = ", ".join(f"[{a}, {b})" for a, b in ranges[:_SHOWN_RANGES])
    more = len(ranges) - _SHOWN_RANGES
    return shown + (f" and {more} more" if more > 0 else "")


def _cores(cores: tuple[int, ...]) -> str:
    if not cores:
        return ""
    if len(cores) > 2 and cores[-1] - cores[0] == len(cores) - 1:
        return f"cores {cores[0]}-{cores[-1]}"
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(map(str, cores))}"

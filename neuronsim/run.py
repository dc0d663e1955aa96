"""One simulation under way: program, loops, and the memory that is in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from neuronsim import rules
from neuronsim.hardware import NEURONCORE_V2, NeuronCore


@dataclass
class Run:
    """What one program of one kernel call knows while it runs.

    Attributes
    ----------
    hardware : NeuronCore
        Where the limits come from.
    grid, program : tuple of int
        Shape of the SPMD grid and this program's place in it; () without a grid.
    loops : list of (int, int, str)
        Enclosing loops, outermost first: (loop id, iteration, kind). The id is that of
        the loop's line, so an inner loop keeps it in every outer iteration.
    symbolic_loops : bool
        Generation 1: a loop's index has no value while compiling.
    sbuf, psum : int
        Bytes a partition, and PSUM banks, that live tiles take.
    shared : list
        Tensors in shared HBM, in order of allocation; all programs see the same.
    """

    hardware: NeuronCore = NEURONCORE_V2
    grid: tuple[int, ...] = ()
    program: tuple[int, ...] = ()
    symbolic_loops: bool = True
    loops: list[tuple[int, int, str]] = field(default_factory=list)
    loop_ids: dict[tuple[str, int], int] = field(default_factory=dict)
    tensors: int = 0
    sbuf: int = 0
    psum: int = 0
    shared: list[Any] = field(default_factory=list)
    shared_count: int = 0

    def next_tensor(self) -> int:
        """Return a new tensor id."""
        self.tensors += 1
        return self.tensors

    def start_program(self, program: tuple[int, ...]) -> None:
        """Begin the next program of the grid; on-chip memory starts empty."""
        self.program = program
        self.loops.clear()
        self.shared_count = 0


_current: ContextVar[Run | None] = ContextVar("run", default=None)


def current() -> Run:
    """Return the running simulation; outside a kernel there is none."""
    run = _current.get()
    if run is None:
        rules.broken("outside_kernel", "an operation was called", always=True)
        raise AssertionError  # not reached
    return run


@contextmanager
def running(run: Run) -> Iterator[None]:
    """Make a run the current one."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)


class LoopIndex(int):
    """The index of a generation 1 loop: usable in index arithmetic, not in `if`."""

    def __add__(self, other: Any) -> Any:
        return _index(int.__add__(self, other))

    def __sub__(self, other: Any) -> Any:
        return _index(int.__sub__(self, other))

    def __mul__(self, other: Any) -> Any:
        return _index(int.__mul__(self, other))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Any:
        return _index(int.__rsub__(self, other))

    def __bool__(self) -> bool:
        return self._compared("used as a condition", int.__bool__(self))

    def __lt__(self, other: Any) -> Any:
        return self._compared("compared", int.__lt__(self, other))

    def __le__(self, other: Any) -> Any:
        return self._compared("compared", int.__le__(self, other))

    def __gt__(self, other: Any) -> Any:
        return self._compared("compared", int.__gt__(self, other))

    def __ge__(self, other: Any) -> Any:
        return self._compared("compared", int.__ge__(self, other))

    def __eq__(self, other: Any) -> Any:
        return self._compared("compared", int.__eq__(self, other))

    def __ne__(self, other: Any) -> Any:
        return self._compared("compared", int.__ne__(self, other))

    __hash__ = int.__hash__

    def _compared(self, how: str, answer: Any) -> Any:
        if answer is not NotImplemented:
            rules.broken("loop_index", f"a loop index was {how}")
        return answer


def _index(value: Any) -> Any:
    return LoopIndex(value) if isinstance(value, int) else value


def loop(kind: str, *bounds: int, symbolic: bool) -> Iterator[int]:
    """Iterate like ``range(*bounds)`` and tell the trace where the kernel is.

    Parameters
    ----------
    kind : str
        "affine", "sequential" or "static".
    symbolic : bool
        Whether the index has no value while a generation 1 kernel compiles.
    """
    run = current()
    this = run.loop_ids.setdefault(rules.kernel_line(), len(run.loop_ids) + 1)
    depth = len(run.loops)
    number = LoopIndex if symbolic and run.symbolic_loops else int
    run.loops.append((this, 0, kind))
    try:
        for iteration, value in enumerate(range(*map(int, bounds))):
            run.loops[depth:] = [(this, iteration, kind)]
            yield number(value)
    finally:
        del run.loops[depth:]

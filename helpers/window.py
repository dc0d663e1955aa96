"""One window of time in which several processes called the same function at once.

Imports nothing heavy: worker processes load it. First used in notebook
12_graviton_multiprocess.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from helpers import machine
from helpers.sampling import EMULATED_SECONDS

Call = tuple[float, float]  # start and stop, seconds since the window opened


@dataclass(frozen=True)
class Window:
    """`seconds` of common time, and the calls of each process since it opened.

    Every process starts at the same moment and calls on until the window has closed
    and the last call of every other process has had its company; what it did after
    the window is kept and never counted.
    """

    seconds: float
    calls: tuple[tuple[Call, ...], ...]

    @property
    def finished(self) -> int:
        """Calls of all processes that ended inside the window."""
        return sum(stop <= self.seconds for calls in self.calls for _, stop in calls)

    @property
    def done(self) -> float:
        """`finished`, and of the call that the closing window cuts in each process the
        share of its own time that lay inside: work in progress, taken as even."""
        return sum(self._share(call) for calls in self.calls for call in calls)

    @property
    def seconds_a_call(self) -> float:
        """The window's seconds over `done`: what one call costs all of them together"""
        return self.seconds / self.done

    @property
    def latencies(self) -> list[float]:
        """Seconds of each call that began inside, as its own process saw it."""
        return [
            stop - start
            for calls in self.calls
            for start, stop in calls
            if start < self.seconds
        ]

    @property
    def late(self) -> float:
        """Seconds from the opening until the last process had started."""
        return max(calls[0][0] for calls in self.calls)

    def _share(self, call: Call) -> float:
        start, stop = call
        if stop <= self.seconds:
            return 1.0
        inside = self.seconds - start
        return inside / (stop - start) if inside > 0 else 0.0


def fill(fn: Callable[[], object], *, opens: float, seconds: float) -> list[Call]:
    """Call `fn` from the moment `opens` until the window is over; the calls' times.

    `opens` is on the monotonic clock, which all processes of a machine share. Calls go
    on for as long as the longest one after the window has closed: another process is
    still in a call that counts in part, and must not find the machine emptier.
    """
    time.sleep(max(0.0, opens - time.monotonic()))
    calls: list[Call] = []
    longest = 0.0
    while not calls or calls[-1][1] < seconds + longest:
        start, stop = _call(fn, opens)
        if machine.emulated():  # one after the other, each as long as any
            start, stop = (EMULATED_SECONDS * n for n in (len(calls), len(calls) + 1))
        calls.append((start, stop))
        longest = max(longest, stop - start)
    return calls


def _call(fn: Callable[[], object], opens: float) -> Call:
    begun = time.monotonic()
    kept = fn()  # freed after the clock has stopped
    ended = time.monotonic()
    del kept
    return round(begun - opens, 6), round(ended - opens, 6)

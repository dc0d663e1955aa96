"""Take samples of a function on the monotonic clock. Imports nothing heavy.

Shared by `helpers.measure` (in a notebook) and `helpers.worker` (in a race).
"""

import time
from collections.abc import Callable

from helpers import machine

WARM_UP_CALLS = (3, 50)  # at least, at most
SAMPLES = (10, 10_000)
EMULATED_SECONDS = 1.0  # what any call counts as where no time means anything
STEADY = 0.05  # three warm-up calls this close to each other end the warm-up

Function = Callable[[], object]
Sync = Callable[[], None]


def sample(fn: Function, sync: Sync | None = None) -> float:
    """The seconds of one call; `sync` waits for the device inside the timed region.

    On an emulated machine nothing is timed: every call counts as `EMULATED_SECONDS`.
    """
    start = time.perf_counter_ns()
    kept = fn()  # a lazy device never computes a result that nobody holds
    if sync is not None:
        sync()
    stop = time.perf_counter_ns()
    del kept
    return counted((stop - start) * 1e-9)


def counted(seconds: float) -> float:
    """`seconds` as they are, or what any call counts as on an emulated machine."""
    return EMULATED_SECONDS if machine.emulated() else seconds


def take(fn: Function, *, count: int, sync: Sync | None = None) -> list[float]:
    """`count` samples in seconds; where nothing is timed, one call stands for all."""
    if machine.emulated():
        return [sample(fn, sync)] * count
    return [sample(fn, sync) for _ in range(count)]


def take_for(fn: Function, *, budget: float, sync: Sync | None = None) -> list[float]:
    """Samples in seconds, for `budget` seconds and within the limits of `SAMPLES`."""
    fewest, most = SAMPLES
    end = time.monotonic() + budget
    samples = take(fn, count=fewest, sync=sync)
    while time.monotonic() < end and len(samples) < most:
        samples.append(sample(fn, sync))
    return samples


def warm_up(fn: Function, *, limit: float, sync: Sync | None = None) -> list[float]:
    """Call `fn` until three calls in a row agree, or `limit` seconds have passed."""
    fewest, most = WARM_UP_CALLS
    end = time.monotonic() + limit
    times = take(fn, count=fewest, sync=sync)
    while len(times) < most and time.monotonic() < end and not _steady(times[-3:]):
        times.append(sample(fn, sync))
    return times


def _steady(times: list[float]) -> bool:
    return max(times) - min(times) <= STEADY * min(times)

"""Time a function soundly: warm up until steady, keep every sample.

First used in notebook 00_start_here.
"""

import os
import sys
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from helpers import machine
from helpers.sampling import SAMPLES, Function, Sync, counted, take_for, warm_up


@dataclass(frozen=True)
class Measurement:
    """Raw samples of one function; every statistic is computed when it is read.

    Attributes
    ----------
    name : str
    samples : tuple of float
        Seconds a call, in the order they were taken.
    warm_ups : tuple of float
        Seconds of the calls before the first sample; kept, never counted.
    load : float
        The machine's load average when sampling ended.
    """

    name: str
    samples: tuple[float, ...]
    warm_ups: tuple[float, ...] = ()
    load: float = 0.0

    @cached_property
    def median(self) -> float:
        """Seconds a call."""
        return float(np.median(self.samples))

    @cached_property
    def mad(self) -> float:
        """Median absolute deviation from the median, in seconds."""
        return float(stats.median_abs_deviation(self.samples))

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the median in seconds (BCa bootstrap, seeded)."""
        return median_interval(self.samples)

    def throughput(self, items: int = 1) -> float:
        """Items a second when one call handles `items` of them."""
        return items / self.median

    @property
    def warnings(self) -> list[str]:
        """Why this measurement should not be trusted, and what to do about it."""
        return [text for bad, text in _judge(self) if bad]

    def __str__(self) -> str:
        if by := machine.emulated():
            return f"{self.name}: not timed ({by})"
        low, high = self.interval
        text = (
            f"{self.name}: {_seconds(self.median)} a call "
            f"(95 % interval {_seconds(low)} to {_seconds(high)}, "
            f"{len(self.samples)} samples, measured)"
        )
        return "\n".join([text, *(f"  caution: {w}" for w in self.warnings)])

    __repr__ = __str__


def measure(
    fn: Function,
    *,
    name: str = "",
    budget: float = 1.0,
    sync: Sync | None = None,
) -> Measurement:
    """Call `fn` until its time is steady, then take samples for `budget` seconds.

    Parameters
    ----------
    fn : callable without arguments
        One call is one sample.
    name : str
        What the measurement is called; the function's own name by default.
    budget : float
        Seconds of sampling. At least 10 samples are taken, whatever they cost.
    sync : callable, optional
        Waits until the device has finished; it runs inside the timed region. By default
        it follows from where the tensors that `fn` returns live (`helpers.sync`).

    Returns
    -------
    Measurement
    """
    first, sync = _first_call(fn, sync)
    warm_ups = [first, *warm_up(fn, sync=sync, limit=budget)]
    samples = take_for(fn, sync=sync, budget=budget)
    return Measurement(
        name=name or getattr(fn, "__name__", "function"),
        samples=tuple(samples),
        warm_ups=tuple(warm_ups),
        load=os.getloadavg()[0],
    )


def _first_call(fn: Function, sync: Sync | None) -> tuple[float, Sync | None]:
    """Seconds of the first call, and what waits for the device of its result."""
    start = time.perf_counter()
    result = fn()
    # torch is slow to import, and a result without tensors does not need it
    if sync is None and "torch" in sys.modules:
        from helpers import sync as devices

        sync = devices.of(result)
    if sync is not None:
        sync()
    return counted(time.perf_counter() - start), sync


def median_interval(samples, level: float = 0.95) -> tuple[float, float]:
    """Interval of the median by the BCa bootstrap of scipy (2000 resamples, seeded)."""
    values = np.asarray(samples, dtype=float)
    if len(values) < 3 or np.ptp(values) == 0:
        return float(values.min()), float(values.max())
    found = stats.bootstrap(
        (values[-2000:],),
        np.median,
        confidence_level=level,
        n_resamples=2000,
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    # BCa is undefined where all jackknife medians agree; the range is honest then.
    if not np.isfinite([found.low, found.high]).all():
        return float(values.min()), float(values.max())
    return float(found.low), float(found.high)


def _judge(m: Measurement) -> list[tuple[bool, str]]:
    """The checks of a measurement: (it failed, what it means and what to do)."""
    samples = np.asarray(m.samples)
    half = len(samples) // 2
    drift = (
        abs(np.median(samples[half:]) / np.median(samples[:half]) - 1) if half else 0.0
    )
    cores = len(os.sched_getaffinity(0))
    return [
        (
            m.median < 1e-4,
            f"a call takes {_seconds(m.median)}; below 0.1 ms the clock and Python's "
            "own call weigh in: time a larger piece of work",
        ),
        (
            len(samples) < SAMPLES[0],
            f"only {len(samples)} samples; raise the budget",
        ),
        (
            m.mad > 0.1 * m.median,
            f"samples spread by {m.mad / m.median:.0%} (MAD); close other programs or "
            "raise the budget",
        ),
        (
            bool(half >= 5 and drift > 0.1),
            f"the second half is {drift:.0%} away from the first: still warming up, or "
            "the machine changed; measure again",
        ),
        (
            m.load > 1.5 * cores,
            f"load average {m.load:.1f} on {cores} cores: others are using this "
            "machine; compare only within a race",
        ),
    ]


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"

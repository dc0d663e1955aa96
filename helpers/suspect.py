"""Refuse a time that does not grow with the work: its clock did not wait.

First used in notebook 03_timing_a_lazy_device.
"""

import math
from collections.abc import Callable

from helpers.measure import Measurement, measure
from helpers.sampling import Sync

TIMES = 16  # how much more work the second measurement does
FLAT = 0.25  # the exponent of time over work below which time is called flat


class Unsynchronised(ValueError):
    """The time does not depend on the work; the message says what that means."""


def reason(small: Measurement, large: Measurement, times: float = TIMES) -> str:
    """Why two measurements, the second with `times` the work, are suspect; "" if not.

    Time that grows with the work has an exponent near 1, time that does not, near 0.
    Anything below 0.25 is called flat: a wide margin, so that a busy machine does not
    make an honest function suspect.
    """
    # the fastest calls: a busy machine slows some calls down, it speeds none up
    growth = min(large.samples) / min(small.samples)
    if math.log(growth) / math.log(times) >= FLAT:
        return ""
    return (
        f"{large.name}: {times:g} times the work took {growth:.2f} times "
        "as long, so this is not the time of the work. Either the clock stopped "
        "before the device had finished (wait for it), or both sizes are too small to "
        "show (take a larger one)"
    )


def measure_scaled(
    make: Callable[[int], Callable[[], object]],
    size: int,
    *,
    budget: float = 0.5,
    sync: Sync | None = None,
) -> tuple[Measurement, Measurement]:
    """Measure ``make(size)`` and ``make(16 * size)``; refuse a flat time.

    Parameters
    ----------
    make : callable (size) -> function without arguments
        The work of the function must be proportional to `size`.
    sync : callable, optional
        As in `helpers.measure.measure`: by default taken from the function's result.

    Raises
    ------
    Unsynchronised
        If the time is flat, with the reason.
    """
    small, large = (
        measure(make(n), name=f"size {n}", budget=budget, sync=sync)
        for n in (size, TIMES * size)
    )
    if why := reason(small, large):
        raise Unsynchronised(why)
    return small, large

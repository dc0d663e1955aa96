"""Read device times that AWS's own tools measured on a NeuronCore.

First used in notebook 03_timing_a_lazy_device. No device was at hand: the formats are
those of AWS's documentation (neuron-profile user guide, "Alternative output formats",
and the API page of nki.benchmark, SDK 2.26.1); the tests read text written after it.
"""

import json
import math
from dataclasses import dataclass

from helpers.measure import Measurement


@dataclass(frozen=True)
class Tool:
    """A profiler's command lines for {model}.neff and {profile}.ntff.

    The second execution is captured, into a file of its own, because the first one also
    loads the program.
    """

    name: str
    sdk: str
    capture: str
    summary: str


_CAPTURE = " capture -n {model}.neff -s {profile}.ntff --profile-nth-exec=2"
_SUMMARY = " view -n {model}.neff -s {profile}_exec_2.ntff --output-format summary-json"
TOOLS = tuple(
    Tool(name, sdk, name + _CAPTURE, name + _SUMMARY)
    for name, sdk in (
        ("neuron-profile", "up to 2.29"),
        ("neuron-explorer", "from 2.27, the only one from 2.30"),
    )
)
PERCENTILES = (0, 1, 10, 25, 50, 90, 99, 100)


class BadProfile(ValueError):
    """The text is not a summary of a profile; the message says what is wrong."""


def parse_summary(text: str, name: str = "device time") -> Measurement:
    """The device times in a profiler's JSON summary, as a measurement.

    Parameters
    ----------
    text : str
        What ``view --output-format summary-json`` or ``json`` printed: an object with
        `total_time` (seconds), a list of such objects, or either under "summary".
        Objects may also be the values of an outer object, whatever its keys: published
        scripts read summary-json that way (``jq '.[].total_time'``).

    Raises
    ------
    BadProfile
        If it is not JSON, holds no entry, or an entry has no positive `total_time`.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadProfile(f"{name}: not JSON ({error}); was it cut?") from error
    return Measurement(
        name, tuple(_total_time(entry, name) for entry in _entries(found))
    )


def benchmark_seconds(result) -> dict[int, float]:
    """Percentile -> seconds of ``kernel.benchmark_result`` after ``nki.benchmark``.

    nki.benchmark reports µs, including the transfer between host and device.
    """
    latency = result.nc_latency.get_latency_percentile
    return {p: latency(p) * 1e-6 for p in PERCENTILES}


def _entries(found) -> list:
    if isinstance(found, dict):
        found = found.get("summary", found)
    if isinstance(found, dict) and "total_time" not in found:
        values = list(found.values())
        found = values if any(isinstance(v, dict) for v in values) else found
    entries = found if isinstance(found, list) else [found]
    if not entries:
        raise BadProfile("the summary is empty: was anything executed while capturing?")
    return entries


def _total_time(entry, name: str) -> float:
    value = entry.get("total_time") if isinstance(entry, dict) else None
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 < value < math.inf
    ):
        raise BadProfile(
            f"{name}: total_time is {value!r}; a positive number of seconds is expected"
        )
    return float(value)

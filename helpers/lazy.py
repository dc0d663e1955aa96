"""Watch a lazy device: what it recorded, compiled and computed.

First used in notebook 03_timing_a_lazy_device. Importing torch_xla takes seconds and
changes thread pools, so nothing here imports it before `LazyDevice` is made.
"""

import importlib.util
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from helpers import machine, results, status, sync

RECORDED = Path(__file__).parent / "recorded" / "lazy_device.json"
ABOUT = (
    "Samples of notebook 03 in seconds, by rows and by way to stop the clock, from a "
    "real run on the machine below; never edited. A copy lies in helpers/recorded, "
    "beside the module that reads it where PyTorch/XLA is missing."
)


def recorded() -> dict:
    """The last recorded run of notebook 03, for a machine without PyTorch/XLA.

    "machine" and "date" say where and when; "samples" holds seconds by way of timing
    and rows; "facts" what the device's counters said. Made by copying the notebook's
    own lazy_device.json out of a real run; never edited.
    """
    return json.loads(RECORDED.read_text())


def save(samples: dict, facts: dict) -> Path:
    """Write a run's samples and facts, with machine and date, to the result folder."""
    run = {
        "about": ABOUT,
        "machine": machine.describe().label(),
        "date": datetime.now(UTC).date().isoformat(),
        "samples": samples,
        "facts": facts,
    }
    path = results.folder() / "lazy_device.json"
    status.write(path, json.dumps(run, indent=1))
    return path


def available() -> bool:
    """Whether PyTorch/XLA is installed: with AWS's plugin it drives a Neuron device."""
    return importlib.util.find_spec("torch_xla") is not None


class LazyDevice:
    """PyTorch/XLA's default device with the counters of its own metrics.

    On a machine with Neuron devices it is a NeuronCore, elsewhere XLA's CPU device.
    """

    def __init__(self):
        if not machine.describe().neuron_devices:
            os.environ.setdefault("PJRT_DEVICE", "CPU")
        import torch_xla
        import torch_xla.debug.metrics as metrics

        self._xla, self._metrics = torch_xla, metrics
        self.device = torch_xla.device()
        neuron = machine.describe().neuron_devices
        self.name = "a NeuronCore" if neuron else "XLA's CPU device"

    def mark(self) -> None:
        """Send what was recorded to the device; returns without waiting for it."""
        self._xla.sync()

    def wait(self) -> None:
        """Send what was recorded, and wait until it has been computed."""
        sync.wait_xla()

    def reset(self) -> None:
        """Set every counter to zero."""
        self.wait()
        self._metrics.clear_all()

    @property
    def executions(self) -> int:
        """Graphs that the device has computed since `reset`."""
        return self._count("ExecuteTime")

    @property
    def compilations(self) -> int:
        """Graphs that were compiled since `reset`."""
        return self._count("CompileTime")

    @property
    def compile_seconds(self) -> float:
        data = self._metrics.metric_data("CompileTime")
        return data[1] * 1e-9 if data else 0.0

    def operations(self, fn) -> int:
        """How many operations one call of `fn` records."""
        self.reset()
        kept = fn()
        names = [n for n in self._metrics.counter_names() if n.startswith("xla::")]
        count = sum(self._metrics.counter_value(name) for name in names)
        del kept
        return count

    def _count(self, metric: str) -> int:
        data = self._metrics.metric_data(metric)
        return data[0] if data else 0

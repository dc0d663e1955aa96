"""Which device is waited for, and that a measurement waits by itself."""

import importlib.util
import subprocess
import sys
import time

import pytest
import torch

from helpers import sync
from helpers.measure import measure


@pytest.fixture
def waited(monkeypatch):
    """Devices whose waiting is only written down; "meta" stands for a lazy one."""
    calls: list[str] = []
    table = {"cpu": None, "meta": lambda: calls.append("meta")}
    monkeypatch.setattr(sync, "WAITS", table)
    return calls


def lazy(*shape):
    return torch.empty(*shape, device="meta")


def test_nothing_is_waited_for_on_the_cpu():
    assert sync.of(torch.ones(2)) is None
    assert sync.of([1, "text", None, {"a": torch.ones(1)}]) is None


@pytest.mark.parametrize(
    "result", [lazy(2), [lazy(2)], {"a": (torch.ones(1), lazy(1))}, ((), [[lazy(1)]])]
)
def test_the_device_of_any_tensor_in_the_result_is_waited_for(waited, result):
    wait = sync.of(result)
    wait()
    assert waited == ["meta"]


def test_an_unknown_device_is_an_error():
    with pytest.raises(ValueError, match="no way known to wait for meta"):
        sync.of(lazy(2))


def test_a_measurement_waits_for_the_device_of_its_result(waited):
    m = measure(lambda: lazy(4), budget=0.01)
    assert len(waited) == len(m.samples) + len(m.warm_ups)


def test_a_sync_that_is_given_is_taken(waited):
    m = measure(lambda: lazy(4), budget=0.01, sync=lambda: time.sleep(0.002))
    assert waited == []
    assert m.median >= 0.002


SCRIPT = """
import torch
from helpers.lazy import LazyDevice
from helpers.measure import measure
lazy = LazyDevice()
a = torch.rand(64, 64).to(lazy.device)
work = lambda: (a @ a).relu()
assert lazy.operations(work) == 2, lazy.operations(work)
lazy.reset()
for _ in range(5):
    work()
lazy.wait()
print("dead", lazy.executions)
lazy.reset()
m = measure(work, budget=0.05)
print("alive", lazy.executions == len(m.samples) + len(m.warm_ups), lazy.compilations)
lazy.reset()
b = torch.rand(33, 33).to(lazy.device)
kept = b @ b
lazy.wait()
print("new shape", lazy.compilations, lazy.compile_seconds > 0)

import time
import torch_xla.core.xla_model as xm

def chain(x, times=20):
    for _ in range(times):
        x = x @ c
    return x

c = torch.rand(512, 512).to(lazy.device) * 1e-3
kept = chain(c)
lazy.wait()
spent = [], []
for _ in range(5):
    start = time.perf_counter()
    kept = chain(c)
    lazy.wait()
    stopped = time.perf_counter()
    xm.wait_device_ops()
    spent[0].append(stopped - start)
    spent[1].append(time.perf_counter() - stopped)
print("left over", min(spent[1]) < 0.2 * min(spent[0]))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("torch_xla") is None,
    reason="torch-xla is not installed (it has no aarch64 wheel)",
)
def test_an_xla_device_computes_what_is_held_and_nothing_else():
    """In a process of its own, because importing torch_xla changes thread pools."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "dead 0" in done.stdout
    assert "alive True" in done.stdout
    assert "new shape 1 True" in done.stdout
    assert "left over True" in done.stdout, "the clock stopped before the device"

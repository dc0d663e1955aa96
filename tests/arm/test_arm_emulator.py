"""What fails only because it is emulated, not because it is an Arm: still true?

Each row has a reason and a program that fails because of it. A program that runs makes
its test fail: the emulator got better, and the row and its work-around can go.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from helpers import machine

pytestmark = pytest.mark.skipif(
    not machine.emulated(), reason="this machine is not emulated"
)
CONVOLUTION = """
import numpy as np
import torch
from helpers import quiet

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.Conv2d(32, 32, 3)).eval()
images = torch.randn(2, 3, 16, 16)
ov = quiet.openvino()
model = ov.convert_model(net, example_input=images)
made = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
assert np.allclose(made(images.numpy())[0], net(images).detach(), atol=1e-3)
"""
VECTORS = """
import torch
assert torch.backends.cpu.get_cpu_capability() != "DEFAULT"
"""

THREADS = """
import os
core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})
from helpers.proof import Witness, pinned_threads
finding = pinned_threads()(Witness(lambda: None, cores=(core,)))
assert finding.holds, finding.saw
"""


@dataclass(frozen=True)
class Fault:
    """A program that fails here, why, and how it shows; `env` provokes it."""

    why: str
    program: str
    shows: str = "AssertionError"
    env: dict[str, str] = field(default_factory=dict)


FAULTS = {
    "SME": Fault(
        why="QEMU 7.2's `max` has SME, with which OpenVINO's convolutions are wrong: "
        "helpers.arm.chips switches it off. No Graviton has it.",
        program=CONVOLUTION,
        env={"QEMU_CPU": "max,sve-default-vector-length=16"},
    ),
    "long vectors": Fault(
        why="`max` starts with SVE vectors of 512 bit, for which PyTorch has no "
        "kernels: helpers.arm.chips gives each chip its own length.",
        program=VECTORS,
        env={"QEMU_CPU": "max,sme=off"},
    ),
    "a thread of QEMU": Fault(
        why="QEMU starts a thread of its own before any program can pin itself: "
        "`pinned threads` never holds, and test_arm_processes.py counts one.",
        program=THREADS,
        shows="1 of 2 may leave",
    ),
}


def ran(fault: Fault) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", fault.program]
    env = os.environ | fault.env
    return subprocess.run(command, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_emulator_still_fails(fault):
    done = ran(fault)
    assert done.returncode, f"works now, so the row can go: {fault.why}"
    assert fault.shows in done.stderr, done.stderr[-500:]


AVOIDED = {name: fault for name, fault in FAULTS.items() if fault.env}


@pytest.mark.parametrize("fault", AVOIDED.values(), ids=AVOIDED)
def test_what_works_around_it_does(fault):
    done = ran(Fault(fault.why, fault.program))
    assert not done.returncode, done.stderr[-500:]

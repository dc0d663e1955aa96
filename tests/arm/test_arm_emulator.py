"""What fails only because it is emulated, not because it is an Arm: still true?

Each row has a reason and a program that fails because of it. A program that runs makes
its test fail: the emulator got better, and the row and its work-around can go.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace

import pytest

from helpers import machine
from helpers.arm.chips import CHIPS

pytestmark = pytest.mark.skipif(
    not machine.emulated(), reason="this machine is not emulated"
)
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


def test_with_the_vectors_of_a_graviton3_pytorch_has_kernels():
    chip = CHIPS["graviton3"]  # a Graviton4's are too short for them
    done = ran(replace(FAULTS["long vectors"], env={"QEMU_CPU": chip.qemu}))
    assert not done.returncode, done.stderr[-500:]

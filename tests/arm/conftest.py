"""The Arm test set: build functions and proofs of notebooks 07 to 15 on aarch64.

``make arm`` runs it in the emulated root of `helpers.arm`; on a Graviton plain pytest
does. One tiny model serves all: ResNet-18, two images of 32 pixels.
"""

import copy
import platform

import pytest

from helpers import machine
from helpers.proof import Proof

# elsewhere test_here.py says why there is nothing more
collect_ignore_glob = [] if platform.machine() == "aarch64" else ["test_arm_*.py"]
MODEL = "resnet18_64px"


@pytest.fixture(autouse=True)
def without_gradients():
    import torch

    with torch.no_grad():
        yield


@pytest.fixture(autouse=True)
def findings_are_shown(monkeypatch):
    """What each proof saw is in the test's output: pytest -rA prints it."""
    look = Proof.__call__

    def shown(proof: Proof, witness):
        print(finding := look(proof, witness))
        return finding

    monkeypatch.setattr(Proof, "__call__", shown)


@pytest.fixture
def bf16() -> bool:
    """Whether this chip computes in bf16 (Graviton3 and newer); oneDNN uses it then."""
    return machine.describe().has("bf16")


@pytest.fixture
def needs_bf16(bf16):
    if not bf16:
        pytest.skip(f"{machine.describe().chip} has no bf16")


@pytest.fixture(scope="session")
def batch():
    from helpers import models

    return models.images(MODEL, 2)[..., ::2, ::2].contiguous()


@pytest.fixture(scope="session")
def made():
    """The model, made once: under emulation that takes a while."""
    from helpers import models

    return models.make(MODEL)


@pytest.fixture
def model(made):
    """A copy for each test: build functions change the model that they are given."""
    return copy.deepcopy(made)


@pytest.fixture(scope="session")
def exact(made, batch):
    """The output in fp32 by plain PyTorch."""
    import torch

    with torch.no_grad():
        return made(batch).numpy()

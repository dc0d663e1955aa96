"""Notebook 13: each condition of an 8-bit kernel is needed; its steps load."""

import pytest
import torch

from helpers import cells, machine, models

NOTEBOOK = "13_graviton_int8"
KERNELS = "8-bit kernels"
on_x86 = pytest.mark.skipif(
    machine.describe().architecture != "x86_64",
    reason="the x86 kernels of qconv; on Arm they depend on the version of PyTorch",
)


@pytest.fixture(scope="module")
def tried():
    taught = cells.load(NOTEBOOK, "quantiser", "quantise", "conditions", "tried")
    with torch.no_grad():
        yield taught.tried


@on_x86
def test_with_all_conditions_an_8_bit_kernel_runs(tried):
    found = tried("nothing")
    assert found["quantised"]
    assert found["8-bit code"], found
    assert found[KERNELS], found["saw"]


@on_x86
@pytest.mark.parametrize(
    ("condition", "in_the_graph", "in_the_code"),
    [
        ("strict", False, False),
        ("per-channel", True, False),
        ("u8", True, True),
        ("freezing", True, False),
    ],
)
def test_without_one_condition_none_runs(tried, condition, in_the_graph, in_the_code):
    found = tried(condition)
    assert not found[KERNELS], found["saw"]
    assert found["quantised"] is in_the_graph
    assert found["8-bit code"] is in_the_code


def test_the_steps_prove_graph_code_and_kernels():
    tags = ("quantiser", "quantise", "builds", "steps")
    steps = cells.load(NOTEBOOK, *tags).steps
    assert len({step.name for step in steps}) == 3
    asked = {tuple(proof.name for proof in step.proofs) for step in steps}
    assert asked == {("quantised", "8-bit code", "8-bit kernels")}


def test_calibration_images_are_not_the_measured_ones():
    taught = cells.load(NOTEBOOK, "quantise")
    batch = models.images("resnet18_64px", 2)
    (other,) = taught.calibration(batch)
    assert other.shape == batch.shape
    assert not torch.equal(other, batch)
    assert 0.8 < float(other.std()) < 1.2

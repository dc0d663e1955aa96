"""Proofs about compilers, both ways: in effect and not."""

import pytest
import torch

from helpers import models, proof


class Small(torch.nn.Module):
    """A convolution with its batch norm: the least that folding changes."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 16, 3)
        self.norm = torch.nn.BatchNorm2d(16)

    def forward(self, x):
        return self.norm(self.convolution(x))


@pytest.fixture
def small():
    return Small().eval(), torch.randn(2, 3, 16, 16)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with torch.no_grad():
        yield


def witness(model, batch):
    model(batch)
    return proof.Witness(lambda: model(batch))


def test_folded_and_not(small):
    from torch.fx.experimental.optimization import fuse

    model, batch = small
    assert proof.folded()(witness(fuse(model), batch)).holds
    finding = proof.folded()(witness(model, batch))
    assert not finding.holds
    assert finding.saw == "1 batch norms beside 1 convolutions"


def test_nothing_to_fold_is_no_proof():
    assert not proof.folded()(witness(torch.nn.ReLU(), torch.ones(2))).holds


@pytest.mark.parametrize("freezing", [True, False])
def test_frozen_and_not(small, freezing):
    model, batch = small
    with torch._inductor.config.patch(freezing=freezing):
        seen = witness(torch.compile(model), batch)
        finding = proof.frozen()(seen)
    assert finding.holds is freezing, finding.saw
    assert proof.compiled()(seen).holds


def test_eager_is_neither_compiled_nor_frozen_nor_packaged(small):
    seen = witness(*small)
    for claim in (proof.compiled(), proof.frozen(), proof.packaged()):
        assert not claim(seen).holds


def test_a_package_is_seen(small, tmp_path):
    model, batch = small
    exported = torch.export.export(model, (batch,), strict=True)
    path = torch._inductor.aoti_compile_and_package(
        exported, package_path=str(tmp_path / "small.pt2")
    )
    seen = witness(torch._inductor.aoti_load_package(path), batch)
    assert proof.packaged()(seen).holds, proof.packaged()(seen).saw


def test_weight_reorders_are_told_from_those_of_activations():
    model = models.make("resnet18_64px")
    seen = witness(model, models.images("resnet18_64px", 2))
    weights = sum(p.moves_weights for p in seen.onednn)
    reorders = sum(p.kind == "reorder" for p in seen.onednn)
    convolutions = sum(p.kind == "convolution" for p in seen.onednn)
    assert weights == convolutions
    assert weights < reorders

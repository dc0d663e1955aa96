"""Notebooks 11 and 13 on Arm: the compiler's steps, and what is really quantised."""

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor import config
from torch._inductor.codecache import PyCodeCache

from helpers import cells, models, proof
from helpers.drift import drift
from helpers.proof import Witness
from helpers.proof.int8 import quantised_layers


def small():
    """The kinds of layer of a ResNet, few enough to compile them under emulation."""
    torch.manual_seed(0)
    first = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)]
    return nn.Sequential(*first, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))


@pytest.fixture
def tiny():
    """The small network and two images for it."""
    return small().eval(), models.images("resnet18_64px", 2)[..., ::4, ::4].contiguous()


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Counters and generated code of one test are not evidence in another."""
    torch._dynamo.reset()
    counters.clear()
    PyCodeCache.cache_clear()


@pytest.fixture(scope="module")
def compile_steps():
    return cells.load("11_graviton_compile", "folded", "compiled", "packaged")


@pytest.fixture(scope="module")
def int8():
    return cells.load("13_graviton_int8", "quantiser", "quantise")


def test_folding_leaves_no_batch_norm(tiny, compile_steps):
    model, batch = tiny
    before = proof.folded()(Witness(lambda: model(batch)))
    finding = proof.folded()(Witness(compile_steps.folded(model, batch)))
    assert not before.holds, before.saw
    assert finding.holds, finding.saw


@pytest.mark.parametrize(
    ("step", "evidence"),
    [("compiled", proof.compiled()), ("packaged", proof.packaged())],
)
def test_what_the_compiler_made_is_proven_and_answers_the_same(
    tiny, compile_steps, step, evidence
):
    model, batch = tiny
    exact = model(batch).numpy()
    assert not evidence(Witness(lambda: None)).holds
    fn = getattr(compile_steps, step)(model, batch)
    assert drift(fn().numpy(), exact).sqnr_db > 100
    finding = evidence(Witness(fn))
    assert finding.holds, finding.saw
    unfrozen = proof.frozen()(Witness(fn))
    assert not unfrozen.holds, unfrozen.saw


@pytest.mark.parametrize(("strict", "quantised"), [(True, 21), (False, 0)])
def test_the_arm_quantiser_needs_a_strict_export(
    model, batch, exact, int8, strict, quantised
):
    chosen = int8.quantiser()
    assert type(chosen).__name__ == "ArmInductorQuantizer"
    graph = int8.quantise(model, batch, int8.calibration(batch), chosen, strict=strict)
    counts = quantised_layers(graph)
    assert counts["layers"] == 21  # 20 convolutions and the classifier
    assert counts["quantised"] == quantised
    got = drift(graph(batch).numpy(), exact)
    assert (5 < got.sqnr_db < 60) if strict else got.sqnr_db > 100


def test_a_quantised_graph_is_not_yet_an_8_bit_kernel(tiny, int8):
    """Of PyTorch 2.9 on Arm: it converts back to float. The proofs tell them apart."""
    model, batch = tiny
    graph = int8.quantise(model, batch, [batch], int8.quantiser())
    with config.patch(freezing=True):
        compiled = torch.compile(graph)
        fn = lambda: compiled(batch)  # noqa: E731  the proof looks into its closure
        fn()
        findings = [p()(Witness(fn)) for p in (proof.quantised, proof.int8_code)]
        ran = proof.int8_kernels()(Witness(fn))
    assert findings[0].holds, findings[0].saw
    if torch.__version__.startswith("2.9."):
        assert not findings[1].holds, findings[1].saw
        assert not ran.holds, ran.saw
    else:
        assert findings[1].holds, findings[1].saw

"""The ceilings of a roofline, and the work that is placed under them."""

import json

import pytest
import torch

from helpers import ceilings, machine, models, work


def graviton4(cores_online=4):
    fields = {"Architecture": "aarch64", "Model name": "Neoverse-V2", "Flags": "bf16"}
    text = json.dumps({"lscpu": [{"field": k, "data": v} for k, v in fields.items()]})
    found = machine._describe(text, "", "c8g.xlarge", 0)
    return machine.Machine(**{**found.as_dict(), "cores": cores_online})


def test_four_graviton4_cores_peak_at_358_gflops():
    # 4 cores x 2.8 GHz x 4 pipes x 4 lanes x 2: facts/graviton.md, section A
    peak = ceilings.instruction_set(graviton4())
    assert peak.value == pytest.approx(358.4e9)
    assert peak.kind == "predicted"


def test_an_unknown_processor_has_no_predicted_peak():
    unknown = machine.Machine(**{**graviton4().as_dict(), "chip": "riscv64"})
    assert ceilings.instruction_set(unknown) is None


def test_measured_ceilings_are_rates_of_this_machine():
    gemm = ceilings.arithmetic(256, budget=0.1)
    int8 = ceilings.int8_arithmetic(256, budget=0.1)
    copy = ceilings.bandwidth(8, budget=0.1)
    assert (gemm.kind, gemm.of) == ("measured", "compute")
    assert (int8.kind, int8.of) == ("measured", "compute")
    assert (copy.kind, copy.of) == ("measured", "bandwidth")
    assert 1e8 < gemm.value < 1e14
    assert 1e8 < int8.value < 1e15
    assert 1e8 < copy.value < 1e13


def test_resnet50_is_four_giga_multiply_adds():
    found = work.count(models.make("resnet50"), models.images("resnet50", 1))
    assert found.flop == pytest.approx(2 * 4.089e9, rel=0.001)
    assert found.bytes > 4 * 25.5e6  # the weights alone


def test_attention_is_counted():
    model = models.make("vit_tiny_64px")
    seen = work.count(model, models.images("vit_tiny_64px", 1))
    # 12 blocks, 17 tokens, width 192: two products of tokens x tokens x width each
    attention = 12 * 2 * 2 * 17 * 17 * 192
    linear = sum(
        2 * 17 * m.weight.numel()
        for name, m in model.named_modules()
        if isinstance(m, torch.nn.Linear) and name != "head"
    )
    patch = 2 * 16 * model.patch_embed.proj.weight.numel()
    head = 2 * model.head.weight.numel()
    assert seen.flop == attention + linear + patch + head


def test_a_larger_batch_reuses_the_weights():
    model = models.make("resnet18_64px")
    one = work.count(model, models.images("resnet18_64px", 1))
    eight = work.count(model, models.images("resnet18_64px", 8))
    assert eight.flop == 8 * one.flop
    assert eight.bytes < 8 * one.bytes
    assert eight.intensity > one.intensity

"""Proofs of data types and of the primitive cache, both ways.

On oneDNN's own lines, recorded on emulated Gravitons (tests/arm/record.py), and on this
processor where it can tell.
"""

from pathlib import Path

import pytest
import torch

from helpers import models, onednn_log, proof

RECORDED = Path(__file__).parent.parent / "data" / "arm"


class Recorded(proof.Witness):
    """A witness of a process that printed a recording."""

    def __init__(self, name: str):
        super().__init__(lambda: None)
        self.onednn_text = (RECORDED / f"onednn-{name}.txt").read_text()


@pytest.mark.parametrize(
    ("recording", "holds", "saw"),
    [
        ("graviton4-fpmath", True, "20 of 20 fp32 primitives with bf16 weights"),
        ("graviton4-fp32", False, "0 of 20 fp32 primitives with bf16 weights, 0 with"),
        # Graviton2 has no bf16: the attribute is printed and changes nothing
        ("graviton2-fpmath", False, "0 of 20 fp32 primitives with bf16 weights, 20"),
        ("graviton4-bf16", False, "0 of 0 fp32 primitives"),
    ],
)
def test_fast_math_is_proven_by_the_weights(recording, holds, saw):
    finding = proof.fast_math()(Recorded(recording))
    assert finding.holds is holds, finding.saw
    assert saw in finding.saw


def test_fast_math_by_a_reference_kernel_is_no_proof():
    witness = Recorded("graviton4-fpmath")
    witness.onednn_text = witness.onednn_text.replace("gemm:acl", "gemm:ref")
    finding = proof.fast_math()(witness)
    assert not finding.holds
    assert "by a reference kernel" in finding.saw


@pytest.mark.parametrize(
    ("recording", "holds"),
    [
        ("graviton4-cache", True),
        ("graviton4-fp32", False),
        # without bf16 hardware PyTorch does not ask oneDNN at all
        ("graviton2-bf16", False),
    ],
)
def test_the_primitive_cache_is_proven_by_look_ups_that_are_not_there(recording, holds):
    finding = proof.primitive_cache()(Recorded(recording))
    assert finding.holds is holds, finding.saw


@pytest.mark.parametrize(
    ("recording", "holds"),
    [
        ("graviton4-bf16", True),
        ("graviton4-autocast", True),
        ("graviton4-fp32", False),
        ("graviton2-bf16", False),
    ],
)
def test_bf16_is_proven_by_the_weights_of_the_layers(recording, holds):
    finding = proof.onednn(layout="nhwc", dtype="bf16")(Recorded(recording))
    assert finding.holds is holds, finding.saw


def test_bf16_of_a_vision_transformer_is_proven_by_its_matrix_products():
    finding = proof.onednn(dtype="bf16")(Recorded("graviton4-vit-autocast"))
    assert finding.holds, finding.saw
    assert "49 matmul gemm:acl, 1 convolution" in finding.saw
    assert "50 of 50 weights bf16" in finding.saw


def test_a_matrix_product_that_stays_fp32_is_no_proof_of_bf16():
    witness = Recorded("graviton4-autocast")
    lines = witness.onednn_text.splitlines()
    fp32 = [x.replace("bf16", "f32") if ",exec,cpu,matmul" in x else x for x in lines]
    witness.onednn_text = "\n".join(fp32)
    finding = proof.onednn(dtype="bf16")(witness)
    assert not finding.holds
    assert "20 of 21 weights bf16" in finding.saw


def test_recordings_say_where_they_are_from_and_carry_no_time():
    recordings = sorted(RECORDED.glob("onednn-*.txt"))
    assert recordings
    for path in recordings:
        head, *lines = path.read_text().splitlines()
        assert "by qemu-aarch64" in head
        assert all(line.endswith(",0") for line in lines)


@pytest.fixture(scope="module")
def bf16():
    """The small model in bf16 and its batch, and the same by autocast."""
    model = models.make("resnet18_64px")
    batch = models.images("resnet18_64px", 1)

    def per_call():
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            return model(batch)

    whole = models.make("resnet18_64px").to(torch.bfloat16)
    half = batch.to(torch.bfloat16)

    def converted():
        with torch.no_grad():
            return whole(half)

    return per_call, converted


def test_weights_that_are_cast_on_every_call_are_counted(bf16):
    per_call, converted = bf16
    finding = proof.weights_kept()(proof.Witness(per_call))
    # 20 convolutions, and a linear layer with weight and bias
    assert not finding.holds
    assert finding.saw.startswith("22 weight casts")
    finding = proof.weights_kept()(proof.Witness(converted))
    assert finding.holds, finding.saw


def test_look_ups_and_executions_are_told_apart():
    text = Recorded("graviton4-fp32").onednn_text
    assert onednn_log.lookups(text)["convolution"] == 14  # ideep keeps one
    assert sum(p.kind == "convolution" for p in onednn_log.parse(text)) == 20


def test_casts_under_inference_mode_are_counted_too(bf16):
    per_call, _ = bf16
    with torch.inference_mode():
        finding = proof.weights_kept()(proof.Witness(per_call))
    assert finding.saw.startswith("22 weight casts"), finding.saw

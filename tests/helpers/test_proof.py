"""Proofs, both ways: in effect and not, here and on recorded oneDNN output."""

import os

import pytest
import torch

from helpers import models, onednn_log, proof

HEAD = "onednn_verbose,v1,primitive,exec,cpu,"
# What Arm's oneDNN 3.7.1 prints (layout documented; facts/graviton.md B2 to B4).
ARM_BF16 = (
    HEAD + "convolution,indirect_gemm:acl,forward_training,"
    "src:bf16:a:blocked:acdb::f0 wei:bf16:a:blocked:AcdB4a4b::f0 bia:undef::undef::: "
    "dst:bf16:a:blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,"
    "mb8_ic64oc64_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1,1.5"
)
ARM_FAKE = ARM_BF16.replace("bf16", "f32").replace(
    "attr-scratchpad:user", "attr-scratchpad:user attr-fpmath:bf16"
)
ARM_REFERENCE = ARM_BF16.replace("indirect_gemm:acl", "ref:any")


class Recorded(proof.Witness):
    """A witness of a process that printed these lines."""

    def __init__(self, *lines: str):
        super().__init__(lambda: None)
        self.onednn = onednn_log.parse("\n".join(lines))


def test_bf16_kernels_are_proof():
    finding = proof.onednn(layout="nhwc", dtype="bf16")(Recorded(ARM_BF16, ARM_BF16))
    assert finding.holds
    assert "2 convolution indirect_gemm:acl" in finding.saw


def test_the_fpmath_attribute_alone_is_not():
    finding = proof.onednn(dtype="bf16")(Recorded(ARM_FAKE))
    assert not finding.holds
    assert "0 of 1 weights bf16" in finding.saw


def test_a_reference_kernel_is_never_proof():
    assert not proof.onednn(dtype="bf16")(Recorded(ARM_BF16, ARM_REFERENCE)).holds


def test_no_layer_is_not_proof():
    assert not proof.onednn(dtype="bf16")(Recorded("noise", "onednn_verbose,v1")).holds


def test_other_lines_are_ignored():
    text = f"hello\n{ARM_BF16.replace('exec', 'create:cache_hit')}\n{ARM_BF16[:80]}\n"
    assert onednn_log.parse(text) == []


@pytest.fixture(scope="module")
def witnesses():
    model = models.make("resnet18_64px")
    batch = models.images("resnet18_64px", 2)
    with torch.no_grad():
        plain = proof.Witness(lambda: model(batch))
        assert plain.onednn  # captured before the model changes
        model.to(memory_format=torch.channels_last)
        last = batch.to(memory_format=torch.channels_last)
        turned = proof.Witness(lambda: model(last))
        assert turned.onednn
    return plain, turned


@pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the plain layout's kernels are x86's"
)
def test_channels_last_is_seen_and_so_is_its_absence(witnesses):
    plain, turned = witnesses
    assert proof.onednn(layout="nhwc")(turned).holds
    finding = proof.onednn(layout="nhwc")(plain)
    assert not finding.holds
    assert "0 of 20 read acdb" in finding.saw


def test_what_a_step_prints_survives_the_capture(capfd):
    print("before")
    onednn_log.capture(lambda: None)
    print("after")
    assert capfd.readouterr().out.split() == ["before", "after"]


def test_a_process_without_tcmalloc_or_cores_is_unproven():
    witness = proof.Witness(lambda: None, cores=(0, 10_000))
    assert not proof.pinned()(witness).holds
    assert proof.tcmalloc_loaded()(witness).holds == ("tcmalloc" in witness.maps)
    assert not proof.huge_pages(min_mib=1e6)(witness).holds


def test_pinned_holds_on_the_cores_there_are():
    cores = tuple(os.sched_getaffinity(0))
    assert proof.pinned()(proof.Witness(lambda: None, cores=cores)).holds


def test_compiled_and_not_compiled():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    witness = proof.Witness(lambda: None)
    assert not proof.compiled()(witness).holds
    fn = torch.compile(lambda x: torch.relu(x) * 2)
    fn(torch.ones(8))
    assert proof.compiled()(witness).holds

    @torch.compile
    def breaks(x):
        y = x * 2
        print("side effect")
        return y + 1

    breaks(torch.ones(8))
    assert not proof.compiled()(witness).holds
    assert proof.compiled(graph_breaks=1)(witness).holds

"""Proofs of 8-bit computation, both ways: graph and kernels."""

from types import SimpleNamespace

import pytest
import torch

from helpers import cells, proof
from helpers.proof.int8 import quantised_layers

NOTEBOOK = "13_graviton_int8"
LINE = (
    "onednn_verbose,v1,primitive,exec,cpu,convolution,{kernel},forward_inference,"
    "src:{src}:a:blocked:acdb::f0 wei:{wei}:a:blocked:Acdb16a::f0 "
    "dst:f32:a:blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,"
    "mb1_ic16oc16,0.1\n"
)


class Recorded(proof.Witness):
    """A witness of written lines in oneDNN's documented format."""

    def __init__(self, text):
        super().__init__(lambda: None)
        self.__dict__["onednn_text"] = text


def line(kernel="brgconv:sve_128", src="u8", wei="s8"):
    return LINE.format(kernel=kernel, src=src, wei=wei)


@pytest.fixture(scope="module")
def graphs():
    """A quantised graph of two convolutions by whether export was strict."""
    taught = cells.load(NOTEBOOK, "quantiser", "quantise")
    torch.manual_seed(0)
    pair = [torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3)]
    net, x = torch.nn.Sequential(*pair).eval(), torch.rand(2, 8, 12, 12)
    with torch.no_grad():
        return {
            strict: taught.quantise(
                net, x, [x], taught.quantiser(kind="x86"), strict=strict
            )
            for strict in (False, True)
        }


@pytest.mark.parametrize(("strict", "count"), [(False, 0), (True, 2)])
def test_only_a_strict_export_is_quantised(graphs, strict, count):
    assert quantised_layers(graphs[strict]) == {
        "layers": 2,
        "quantised": count,
        "per_channel": count,
        "unsigned": count,
    }


@pytest.mark.parametrize("strict", [False, True])
def test_quantised_reads_the_graph_that_the_step_holds(graphs, strict):
    graph = graphs[strict]
    finding = proof.quantised(min_ops=2)(proof.Witness(lambda: graph))
    assert finding.holds is strict
    assert finding.saw == f"{2 * strict} of 2 layers are quantised"


def test_fewer_quantised_layers_than_asked_are_no_proof(graphs):
    graph = graphs[True]
    assert not proof.quantised(min_ops=3)(proof.Witness(lambda: graph)).holds


def test_a_function_without_a_graph_proves_nothing():
    assert not proof.quantised()(proof.Witness(lambda: None)).holds


def test_the_arm_default_is_signed_and_per_tensor():
    taught = cells.load(NOTEBOOK, "quantiser", "quantise")
    net, x = torch.nn.Conv2d(3, 4, 3).eval(), torch.rand(2, 3, 8, 8)
    with torch.no_grad():
        graph = taught.quantise(net, x, [x], taught.quantiser(kind="arm"))
    found = quantised_layers(graph)
    assert (found["quantised"], found["per_channel"], found["unsigned"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (line(), True),
        (line(src="s8"), True),
        (line(kernel="gemm_s8u8s32:ref"), False),
        (line(src="f32", wei="f32"), False),
        (line(src="f32"), False),
        (line() + line(kernel="ref:any"), False),
        ("", False),
    ],
)
def test_kernels_are_8_bit_and_no_reference(text, holds):
    assert proof.int8_kernels()(Recorded(text)).holds is holds


def test_a_minimum_of_kernels_is_asked_for():
    assert proof.int8_kernels(min_ops=2)(Recorded(line() * 2)).holds
    assert not proof.int8_kernels(min_ops=2)(Recorded(line())).holds


@pytest.mark.parametrize(
    ("code", "saw"),
    [
        (
            "a = torch.ops.onednn.qconv_pointwise.default(x)\n"
            "b = torch.ops.onednn.qlinear_pointwise.binary(a)\n",
            "1 qconv, 1 qlinear",
        ),
        ("a = torch.ops.aten.convolution.default(x)  # was qconv\n", "no qconv"),
    ],
)
def test_the_generated_code_is_read_for_calls(tmp_path, monkeypatch, code, saw):
    from torch._inductor.codecache import PyCodeCache

    (tmp_path / "made.py").write_text(code)
    made = SimpleNamespace(__file__=str(tmp_path / "made.py"))
    monkeypatch.setattr(PyCodeCache, "modules", [made])
    finding = proof.int8_code()(proof.Witness(lambda: None))
    assert finding.holds is not saw.startswith("no")
    assert saw in finding.saw

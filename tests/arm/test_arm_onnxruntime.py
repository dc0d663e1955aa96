"""Notebook 14 on Arm: the option for bf16 products, where it acts and where not."""

import copy

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from helpers import cells, proof
from helpers.drift import drift
from helpers.proof import Witness, sessions

TAGS = ["exported", "session", "whole", "builds", "calibration", "saturates"]
TAGS += ["quantised", "int8"]


@pytest.fixture(scope="module")
def notebook():
    return cells.load("14_graviton_onnxruntime", *TAGS)


@pytest.fixture(scope="module")
def path(notebook, made, batch):
    return notebook.exported(copy.deepcopy(made), batch)


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """A file whose only node multiplies rows of 256 by a constant (256, 64) matrix."""
    weights = np.random.default_rng(0).standard_normal((256, 64)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["images", "weights"], ["classes"])],
        "product",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 256])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 64])],
        [numpy_helper.from_array(weights, "weights")],
    )
    opset = [helper.make_opsetid("", 20)]
    path = tmp_path_factory.mktemp("onnx") / "product.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return str(path)


class Rows:
    """Two seeded rows, as `whole` takes a batch."""

    def numpy(self):
        return np.random.default_rng(1).standard_normal((2, 256)).astype(np.float32)


def test_it_runs_on_the_processor_and_equals_pytorch(notebook, path, batch, exact):
    fn = notebook.whole(path, batch)
    finding = proof.ort_provider()(Witness(fn))
    assert finding.holds, finding.saw
    assert drift(fn(), exact).sqnr_db > 80


@pytest.mark.parametrize("count", [1, 2])
def test_a_session_starts_the_threads_it_is_asked_for(notebook, path, batch, count):
    fn = notebook.whole(path, batch)
    fn.session = notebook.session(path, threads=count)
    fn.twin = lambda: notebook.session(path, threads=count)
    assert proof.ort_threads(count)(Witness(fn)).holds
    assert not proof.ort_threads(count + 1)(Witness(fn)).holds


def test_the_option_changes_the_bits_of_a_product_where_there_is_bf16(
    notebook, product, bf16
):
    fn = notebook.whole(product, Rows(), [(notebook.FAST_MATH, "1")])
    finding = proof.ort_option(notebook.FAST_MATH, "1")(Witness(fn))
    assert "'1' read back" in finding.saw
    assert finding.holds == bf16, finding.saw
    without = notebook.whole(product, Rows())()
    assert drift(fn(), without).sqnr_db > 30


def test_the_option_changes_nothing_of_a_resnet(notebook, path, batch):
    fn = notebook.whole(path, batch, [(notebook.FAST_MATH, "1")])
    assert sessions.node_counts(path)["MatMul"] == 0
    finding = proof.ort_option(notebook.FAST_MATH, "1")(Witness(fn))
    assert not finding.holds
    assert "; 0 of" in finding.saw


def test_an_option_made_after_the_session_does_not_arrive(notebook, product):
    fn = notebook.whole(product, Rows())
    late = ort.SessionOptions()
    late.add_session_config_entry(notebook.FAST_MATH, "1")
    finding = proof.ort_option(notebook.FAST_MATH, "1")(Witness(fn))
    assert not finding.holds
    assert finding.saw == "the session has no such entry"
    assert sessions.different_bits(fn)[0] == 0


def test_int8_is_computed_in_8_bit_and_fp32_is_not(notebook, path, batch, exact):
    plain = notebook.whole(path, batch)
    assert not proof.ort_quantised(1)(Witness(plain)).holds
    fn = notebook.whole(notebook.quantised(path, batch, False), batch)
    finding = proof.ort_quantised(20)(Witness(fn))
    assert finding.holds, finding.saw
    assert drift(fn(), exact).sqnr_db > 5

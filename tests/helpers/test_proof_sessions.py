"""ONNX Runtime's proofs, both ways, on real sessions of a small model.

The only stand-in is the session whose output differs: no option changes bits on every
CPU, so a model with another constant plays the session without the option.
"""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from helpers import proof

KEY = "mlas.enable_gemm_fastmath_arm64_bfloat16"
FEED = {"x": np.ones((2, 8), np.float32)}


def model(scale=1.0, op="MatMul"):
    """One product with a constant, serialised."""
    dtype = np.uint8 if op == "MatMulInteger" else np.float32
    kind = TensorProto.UINT8 if op == "MatMulInteger" else TensorProto.FLOAT
    out = TensorProto.INT32 if op == "MatMulInteger" else TensorProto.FLOAT
    weight = numpy_helper.from_array(np.full((8, 4), scale, dtype), "w")
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", kind, ["n", 8])],
        [helper.make_tensor_value_info("y", out, ["n", 4])],
        [weight],
    )
    opset = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10)


def session(scale=1.0, threads=1, entries=()):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    for key, value in entries:
        options.add_session_config_entry(key, value)
    content = model(scale).SerializeToString()
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def witness(**attributes):
    def fn():
        return None

    vars(fn).update(attributes)
    return proof.Witness(fn)


def optioned(entries, twin_scale):
    return witness(
        session=session(entries=entries), feed=FEED, twin=lambda: session(twin_scale)
    )


def test_an_option_holds_when_read_back_and_bits_differ():
    assert proof.ort_option(KEY, "1")(optioned([(KEY, "1")], 2.0)).holds


def test_an_option_that_changes_no_bit_is_unproven():
    finding = proof.ort_option(KEY, "1")(optioned([(KEY, "1")], 1.0))
    assert not finding.holds
    assert "'1' read back; 0 of" in finding.saw


def test_options_built_after_the_session_are_absent():
    """The article's way: whatever the bits do, the session has no entry."""
    finding = proof.ort_option(KEY, "1")(optioned([], 2.0))
    assert not finding.holds
    assert finding.saw == "the session has no such entry"


def test_another_value_is_unproven():
    finding = proof.ort_option(KEY, "1")(optioned([(KEY, "0")], 2.0))
    assert not finding.holds
    assert finding.saw == "0"


def test_8_bit_nodes_are_counted_in_the_saved_model(tmp_path):
    for op in ("MatMulInteger", "MatMul"):
        onnx.save(model(op=op), str(tmp_path / op))
    whole = witness(optimised=tmp_path / "MatMulInteger")
    assert proof.ort_quantised(min_ops=1)(whole).holds
    assert not proof.ort_quantised(min_ops=2)(whole).holds
    finding = proof.ort_quantised(min_ops=1)(witness(optimised=tmp_path / "MatMul"))
    assert not finding.holds
    assert finding.saw == "of 1 nodes: none"


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_are_those_a_session_starts(threads):
    def twin():
        return session(threads=threads)

    asked = witness(session=session(threads=threads), twin=twin)
    assert proof.ort_threads(threads)(asked).holds
    assert not proof.ort_threads(threads + 1)(asked).holds


def test_threads_asked_for_but_not_started_are_unproven():
    asked = witness(session=session(threads=3), twin=lambda: session(threads=1))
    assert not proof.ort_threads(3)(asked).holds


def test_provider_both_ways():
    on_cpu = witness(session=session())
    assert proof.ort_provider()(on_cpu).holds
    assert not proof.ort_provider("ACLExecutionProvider")(on_cpu).holds


@pytest.mark.parametrize(
    ("one", "missing"),
    [
        (proof.ort_option(KEY, "1"), "session, feed, twin"),
        (proof.ort_quantised(min_ops=0), "optimised"),
        (proof.ort_threads(1), "session, twin"),
        (proof.ort_provider(), "session"),
    ],
)
def test_without_a_session_nothing_holds_and_the_reason_is_given(one, missing):
    finding = one(witness())
    assert not finding.holds
    assert finding.saw.endswith(f"no attribute {missing}")

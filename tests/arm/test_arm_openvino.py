"""Notebook 15 on Arm: what OpenVINO executes, not what it was asked for."""

import pytest

from helpers import cells, proof
from helpers.drift import drift
from helpers.proof import Witness, layers

TAGS = ["convert", "compiled", "whole", "builds", "queue", "in_flight", "ov_queue"]
TAGS += ["quantised", "int8"]


@pytest.fixture(scope="module")
def notebook():
    return cells.load("15_graviton_openvino", *TAGS)


def precisions(fn) -> dict[str, bool]:
    """For f16, f32 and bf16: whether every layer with arithmetic is executed in it."""
    found = {
        p: proof.openvino_precision(p)(Witness(fn)) for p in ("f16", "f32", "bf16")
    }
    return {precision: finding.holds for precision, finding in found.items()}


def test_unasked_it_computes_in_half_precision(notebook, model, batch, exact):
    fn = notebook.ov_fixed(model, batch)
    assert precisions(fn) == {"f16": True, "f32": False, "bf16": False}
    assert 30 < drift(fn(), exact).sqnr_db < 100


def test_asked_for_fp32_it_computes_in_fp32(notebook, model, batch, exact):
    fn = notebook.ov_fp32(model, batch)
    assert precisions(fn) == {"f16": False, "f32": True, "bf16": False}
    assert drift(fn(), exact).sqnr_db > 100


def test_asked_for_bf16_it_has_none_and_does_not_say_so(notebook, model, batch):
    converted = notebook.convert(model, batch, len(batch))
    made = notebook.compiled(converted, INFERENCE_PRECISION_HINT="bf16")
    assert precisions(notebook.whole(made, batch))["bf16"] is False


def test_no_layer_is_left_to_a_plain_loop(notebook, model, batch):
    fn = notebook.ov_fixed(model, batch)
    slow = [x for x in layers.heavy(layers.executed(fn.compiled_model)) if x.simulated]
    assert slow == []


def test_the_queue_answers_in_order_on_several_streams(notebook, model, batch, exact):
    fn = notebook.ov_queue(model, batch)
    assert drift(fn(), exact).sqnr_db > 30
    streams = int(fn.compiled_model.get_property("NUM_STREAMS"))
    assert proof.openvino_streams()(Witness(fn)).holds == (streams >= 2)


def test_of_int8_some_layers_are_executed_in_8_bit_and_of_float_none(
    notebook, model, batch, exact
):
    plain = notebook.ov_fixed(model, batch)
    assert not proof.openvino_int8()(Witness(plain)).holds
    fn = notebook.ov_int8(model, batch)
    assert drift(fn(), exact).sqnr_db > 5
    finding = proof.openvino_int8()(Witness(fn))
    assert finding.holds, finding.saw
    # not all of them: what is asked for is not what is executed
    assert not proof.openvino_int8(min_ops=21)(Witness(fn)).holds

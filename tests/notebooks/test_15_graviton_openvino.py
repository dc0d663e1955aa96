"""The OpenVINO steps at smoke size: outputs, dynamic batch, and their proofs."""

import pytest
import torch

from helpers import cells, models, proof
from helpers.drift import drift

TAGS = ["convert", "compiled", "whole", "builds", "queue", "in_flight", "ov_queue"]
TAGS += ["quantised", "int8", "steps"]


@pytest.fixture(scope="module")
def notebook():
    torch.set_grad_enabled(False)
    yield cells.load("15_graviton_openvino", *TAGS)
    torch.set_grad_enabled(True)


def test_steps_have_names_of_their_own(notebook):
    names = [step.name for step in notebook.steps]
    assert len(set(names)) == len(names) == 7


@pytest.mark.parametrize("name", ["resnet18_64px", "vit_tiny_64px"])
def test_a_dynamic_batch_is_dynamic_and_equals_pytorch(notebook, name):
    model, batch = models.make(name), models.images(name, 4)
    fn = notebook.ov_dynamic(model, batch)
    assert fn.compiled_model.inputs[0].partial_shape[0].is_dynamic
    for count in (1, 3):
        expected = model(batch[:count]).numpy()
        got = fn.compiled_model(batch[:count].numpy())[0]
        assert drift(got, expected).sqnr_db > 40


@pytest.mark.parametrize("count", [1, 4, 3])
def test_the_queue_answers_the_whole_batch_in_order(notebook, count):
    model = models.make("resnet18_64px")
    batch = models.images("resnet18_64px", count)
    got = notebook.ov_queue(model, batch)()
    assert got.shape == (count, 1000)
    assert drift(got, model(batch).numpy()).sqnr_db > 40


def test_int8_is_executed_and_float_is_not_called_int8(notebook):
    model, batch = models.make("resnet18_64px"), models.images("resnet18_64px", 2)
    plain = notebook.ov_fixed(model, batch)
    assert not proof.openvino_int8()(proof.Witness(plain)).holds
    assert not proof.openvino_streams()(proof.Witness(plain)).holds
    fn = notebook.ov_int8(model, batch)
    fn()
    finding = proof.openvino_int8(min_ops=20)(proof.Witness(fn))
    assert finding.holds or "acl" in finding.saw, finding.saw


def test_a_transformer_is_quantised_as_one(notebook):
    assert notebook.scheme(models.make("vit_tiny_64px")) is not None
    assert notebook.scheme(models.make("resnet18_64px")) is None

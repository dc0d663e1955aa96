"""The ONNX Runtime steps on small models: dynamic batch, options, 8-bit nodes."""

import onnx
import pytest
import torch

from helpers import cells, models, proof
from helpers.drift import drift
from helpers.proof import sessions

TAGS = ["exported", "session", "answers", "trial", "whole", "builds", "calibration"]
TAGS += ["saturates", "quantised", "int8", "steps"]
MODELS = ["resnet18_64px", "vit_tiny_64px"]


@pytest.fixture(scope="module")
def notebook():
    return cells.load("14_graviton_onnxruntime", *TAGS)


@pytest.fixture(scope="module", params=MODELS)
def case(request, notebook):
    """A model, four images, and the model's file: one export for all tests."""
    model, batch = models.make(request.param), models.images(request.param, 4)
    return model, batch, notebook.exported(model, batch)


def answer(model, batch):
    with torch.no_grad():
        return model(batch).numpy()


def test_steps_have_the_agreed_names(notebook):
    assert [step.name for step in notebook.steps] == [
        "ONNX Runtime",
        "ONNX Runtime, fast math",
        "ONNX Runtime INT8",
    ]


def test_a_dynamic_batch_is_dynamic_and_equals_pytorch(notebook, case):
    model, batch, path = case
    onnx.checker.check_model(path, full_check=True)
    made = notebook.session(path)
    assert made.get_inputs()[0].shape[0] == "batch"
    for count in (1, 2, 3):
        got = made.run(None, {"images": batch[:count].numpy()})[0]
        assert got.shape == (count, 1000)
        assert drift(got, answer(model, batch[:count])).sqnr_db > 80


def test_int8_is_computed_in_8_bit_and_fp32_is_not(notebook, case):
    model, batch, path = case
    plain = notebook.whole(path, batch)
    assert not proof.ort_quantised(1)(proof.Witness(plain)).holds
    transformer = sessions.node_counts(path)["MatMul"] > 0
    small = notebook.quantised(path, batch, transformer)
    fn = notebook.whole(small, batch)
    finding = proof.ort_quantised(20)(proof.Witness(fn))
    assert finding.holds, finding.saw
    assert drift(fn(), answer(model, batch)).sqnr_db > 12


def test_the_option_arrives_and_its_effect_is_not_taken_for_granted(notebook, case):
    _, batch, path = case
    fn = notebook.whole(path, batch, [(notebook.FAST_MATH, "1")])
    assert sessions.entry(fn.session, notebook.FAST_MATH) == "1"
    assert sessions.entry(fn.twin(), notebook.FAST_MATH) is None
    finding = proof.ort_option(notebook.FAST_MATH, "1")(proof.Witness(fn))
    differ, _ = sessions.different_bits(fn)
    assert finding.holds == (differ > 0)
    assert "'1' read back" in finding.saw


def test_the_optimised_model_is_loaded_as_it_is(notebook, case):
    _, batch, path = case
    fn = notebook.whole(path, batch)
    again = notebook.session(str(fn.optimised), level="DISABLE_ALL")
    assert (again.run(None, fn.feed)[0] == fn()).all()


def test_an_export_with_two_images_or_without_gradients_is_dynamic(notebook):
    for images, gradients in ((2, True), (1, False)):
        assert notebook.trial(images, gradients) == (["batch", 3, 16, 16], "yes")


@pytest.mark.skipif(
    not torch.__version__.startswith("2.9."), reason="PyTorch 2.14.1 exports it well"
)
def test_an_export_with_one_image_only_looks_dynamic(notebook):
    declared, answered = notebook.trial(1, True)
    assert declared[0] == "batch"
    assert "Reshape" in answered


@pytest.mark.parametrize(
    ("machine", "features", "expected"),
    [("x86_64", (), True), ("x86_64", ("int8 dot",), False), ("aarch64", (), False)],
)
def test_weights_have_7_bits_where_8_may_saturate(
    notebook, monkeypatch, machine, features, expected
):
    class Here:
        def has(self, feature):
            return feature in features

    monkeypatch.setattr("platform.machine", lambda: machine)
    assert notebook.saturates(Here()) is expected

"""OpenVINO's proofs, both ways: on this CPU, and on written Arm layers.

The Arm layers are written, not recorded: kernel names and precisions are those that
facts/graviton.md B12 and B13 list for the aarch64 wheel in an emulator.
"""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from helpers import proof
from helpers.proof import layers

# what OpenVINO says of a ResNet on Arm: f16 by default, and INT8 simulated in float
ARM_F16 = [
    ("Input", "f32", "unknown_f32"),
    ("Convolution", "f16", "gemm_acl_f16"),
    ("Convolution", "f16", "winograd_acl_f16"),
    ("FullyConnected", "f16", "acl_f16"),
]
ARM_INT8 = [
    ("Convolution", "f32", "gemm_acl_f32"),
    ("FakeQuantize", "f32", "unknown_f32"),
    ("FullyConnected", "u8", "ref_any_I8"),
]
X86_INT8 = [("Convolution", "u8", "jit_avx2_I8"), ("MatMul", "i8", "undef_i8")]


def witness(rows=(), **properties):
    """Of a step whose compiled model executes these layers."""
    keys = ("layerType", "runtimePrecision", "primitiveType")
    ops = [
        SimpleNamespace(get_rt_info=lambda row=row: dict(zip(keys, row, strict=True)))
        for row in rows
    ]

    def fn():
        return None

    fn.compiled_model = SimpleNamespace(
        get_runtime_model=lambda: SimpleNamespace(get_ops=lambda: ops),
        get_property=properties.__getitem__,
    )
    return proof.Witness(fn)


def test_f16_on_arm_is_not_called_fp32():
    assert proof.openvino_precision("f16")(witness(ARM_F16)).holds
    finding = proof.openvino_precision("f32")(witness(ARM_F16))
    assert not finding.holds
    assert finding.saw.startswith("0 of 3 in f32")
    assert "winograd_acl_f16" in finding.saw


def test_int8_simulated_in_float_or_by_a_reference_loop_is_unproven():
    finding = proof.openvino_int8(min_ops=1)(witness(ARM_INT8))
    assert not finding.holds
    assert finding.saw.startswith("0 of 2 in 8 bit")


def test_int8_counts_products_as_well_and_can_ask_for_more():
    assert proof.openvino_int8(min_ops=2)(witness(X86_INT8)).holds
    assert not proof.openvino_int8(min_ops=3)(witness(X86_INT8)).holds


def test_a_model_without_arithmetic_proves_nothing():
    assert not proof.openvino_precision("f32")(witness(ARM_F16[:1])).holds


@pytest.mark.parametrize(
    "one",
    [
        proof.openvino_precision("f32"),
        proof.openvino_int8(min_ops=0),
        proof.openvino_streams(at_least=0),
    ],
)
def test_without_a_compiled_model_nothing_holds(one):
    finding = one(proof.Witness(lambda: None))
    assert not finding.holds
    assert finding.saw == layers.NO_MODEL


def test_streams_both_ways():
    both = {"NUM_STREAMS": 2, "OPTIMAL_NUMBER_OF_INFER_REQUESTS": 2}
    assert proof.openvino_streams()(witness(**both)).holds
    assert not proof.openvino_streams()(witness(**(both | {"NUM_STREAMS": 1}))).holds


def test_openvino_comes_without_its_telemetry(tmp_path):
    """In a home of its own: the telemetry package would write an identifier there."""
    code = "from helpers import quiet; print(quiet.openvino().convert_model.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["convert_model"]
    assert list(tmp_path.iterdir()) == []

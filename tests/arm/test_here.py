"""Whether the Arm test set can run on this machine at all."""

import platform

import pytest

from helpers import machine


@pytest.mark.skipif(
    platform.machine() != "aarch64",
    reason="the Arm test set needs aarch64; make arm emulates it",
)
def test_this_is_a_graviton_with_the_compute_library():
    import torch

    assert machine.describe().chip.startswith("graviton"), machine.describe()
    assert torch.ops.mkldnn._is_mkldnn_acl_supported()

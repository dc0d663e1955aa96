"""load_custom_op: the host build here, AWS's build on a Neuron instance."""

import sys
import types

import pytest
import torch

from helpers import custom_op, neuron

KERNEL = """\
#include <torch/torch.h>
torch::Tensor keep(const torch::Tensor& x) { return x; }
"""
SHAPE = """\
#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor shape(torch::Tensor x) { return torch::zeros(x.sizes(), torch::kFloat); }
NEURON_LIBRARY(kept, m) { m.def("keep", &shape, "keep"); }
"""


@pytest.fixture
def sources(tmp_path):
    """Arguments of a small operator."""
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    (tmp_path / "shape.cpp").write_text(SHAPE)
    return {
        "name": "kept",
        "compute_srcs": [tmp_path / "kernel.cpp"],
        "shape_srcs": [tmp_path / "shape.cpp"],
        "build_directory": tmp_path / "built",
    }


@pytest.fixture
def neuron_instance(monkeypatch):
    """AWS's package and a device, pretended; what it was asked to load."""
    asked = []
    package = types.ModuleType("torch_neuronx")
    package.__spec__ = types.SimpleNamespace()
    impl = types.ModuleType("torch_neuronx.xla_impl")
    impl.custom_op = types.SimpleNamespace(load=lambda **options: asked.append(options))
    monkeypatch.setitem(sys.modules, "torch_neuronx", package)
    monkeypatch.setitem(sys.modules, "torch_neuronx.xla_impl", impl)
    monkeypatch.setattr(custom_op, "_devices", lambda: ["neuron0"])
    return asked


def test_without_a_device_the_host_build_runs(sources):
    library = neuron.load_custom_op(**sources)
    assert torch.equal(torch.ops.kept.keep(torch.arange(3.0)), torch.arange(3.0))
    assert library.report.findings == ()


def test_the_host_toolchain_names_its_compiler():
    found = custom_op.toolchain()
    assert (found.backend, found.missing, found.install) == ("host", (), "")
    assert "compiler" in found.versions


def test_a_neuron_instance_uses_awss_build(sources, neuron_instance, monkeypatch):
    monkeypatch.setattr(custom_op, "_installed", lambda package: "1.0")
    assert custom_op.load_custom_op(**sources, multicore=True) is None
    assert neuron_instance[0]["multicore"] is True
    assert neuron_instance[0]["compute_srcs"] == [str(sources["compute_srcs"][0])]


def test_a_missing_package_is_named_with_its_pin(sources, neuron_instance, monkeypatch):
    present = {"python3-dev": "3.12", "aws-neuronx-gpsimd-tools": "0.20.1.0"}
    monkeypatch.setattr(custom_op, "_installed", lambda name: present.get(name, ""))
    message = r"lacks aws-neuronx-gpsimd-customop-lib\..*customop-lib=0\.20\.7\.0\*'"
    with pytest.raises(custom_op.ToolchainError, match=message):
        custom_op.load_custom_op(**sources)
    assert neuron_instance == []


def test_an_installed_package_is_found_by_dpkg(monkeypatch):
    assert custom_op._installed("no-such-package-anywhere") == ""
    answer = types.SimpleNamespace(stdout="ii 0.20.7.0")
    monkeypatch.setattr(custom_op.subprocess, "run", lambda *_, **__: answer)
    assert custom_op._installed("aws-neuronx-gpsimd-customop-lib") == "0.20.7.0"

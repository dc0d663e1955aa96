"""Decorators, arguments, SPMD grids, outputs, and what bad input gives."""

import os
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest
import torch

import neuronsim
from neuronsim import RuleError, gen2, nki, typing
from neuronsim import language as nl

nl2 = gen2.language


@nki.jit
def doubled(source):
    out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(source), 2, dtype=source.dtype))
    return out


@nki.trace
def doubled_into(source, out):
    nl.store(out, nl.load(source) * 2)


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_kernel_returns_its_output_and_leaves_its_argument_alone():
    x = X.copy()
    result = nki.simulate_kernel(doubled, x)
    np.testing.assert_array_equal(result, 2 * X)
    np.testing.assert_array_equal(x, X)


def test_a_kernel_writes_an_output_argument():
    out = np.empty_like(X)
    assert nki.simulate_kernel(doubled_into, X, out) is None
    np.testing.assert_array_equal(out, 2 * X)


def test_an_undecorated_function_runs_like_a_traced_kernel():
    out = np.empty_like(X)
    nki.simulate_kernel(doubled_into.function, X, out)
    np.testing.assert_array_equal(out, 2 * X)


def test_a_mutable_argument_may_be_written_under_jit():
    @nki.jit
    def kernel(source, out: typing.mutable_tensor):
        nl.store(out, nl.load(source) + 1)
        return out

    out = np.zeros_like(X)
    result = nki.simulate_kernel(kernel, X, out)
    np.testing.assert_array_equal(out, X + 1)
    np.testing.assert_array_equal(result, X + 1)


def test_jit_takes_simulation_mode_and_refuses_what_needs_a_device():
    kernel = nki.jit(mode="simulation")(doubled.function)
    np.testing.assert_array_equal(kernel(X), 2 * X)
    with pytest.raises(RuntimeError, match="needs a NeuronCore"):
        nki.jit(mode="baremetal")
    with pytest.raises(ValueError, match="none of"):
        nki.jit(mode="magic")


def test_a_kernel_keeps_name_and_docstring():
    assert doubled.__name__ == "doubled"
    assert doubled.__wrapped__ is doubled.function


@pytest.mark.parametrize("grid", [(2,), (2, 3)])
def test_programs_of_a_grid_share_their_output(grid):
    @nki.jit
    def kernel(source):
        out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
        row, column = nl.program_id(0), 0
        if nl.program_ndim() == 2:
            column = nl.program_id(1)
        width = 12 // (nl.num_programs(1) if nl.program_ndim() == 2 else 1)
        block = nl.ds(row * 5, 5), nl.ds(column * width, width)
        nl.store(out[block], nl.load(source[block]) + nl.num_programs())
        return out

    x = np.arange(120, dtype=np.float32).reshape(10, 12)
    result = nki.simulate_kernel(kernel[grid], x)
    np.testing.assert_array_equal(result, x + np.prod(grid))


def test_several_outputs_and_python_arguments():
    @nki.jit
    def kernel(pair, factor, *, add=0):
        outs = []
        for source in pair:
            out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.load(source) * factor + add)
            outs.append(out)
        return outs[0], outs[1]

    first, second = nki.simulate_kernel(kernel, (X, X + 1), 3.0, add=1.0)
    np.testing.assert_array_equal(first, 3 * X + 1)
    np.testing.assert_array_equal(second, 3 * X + 4)


def test_generation_2_returns_shared_tensors_only():
    @gen2.jit
    def private(source):
        out = nl2.ndarray(source.shape, dtype=source.dtype, buffer=nl2.hbm)
        nl2.store(out, nl2.load(source))
        return out

    with pytest.raises(RuleError, match="rule output"):
        gen2.simulate(private)(X)


def test_generation_2_loops_are_pythons():
    @gen2.jit
    def kernel(source):
        out = nl2.ndarray(source.shape, dtype=source.dtype, buffer=nl2.shared_hbm)
        for i in nl2.affine_range(3):
            scale = 1.0 if i == 0 else 2.0
            nl2.store(out[i : i + 1], nl2.multiply(nl2.load(source[i : i + 1]), scale))
        return out

    expected = X * np.array([[1], [2], [2]])
    np.testing.assert_array_equal(gen2.simulate(kernel)(X), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_torch_tensors_come_back_as_torch_tensors(dtype):
    x = torch.arange(12).reshape(3, 4).to(dtype)
    result = doubled(x)
    assert result.dtype == dtype
    assert torch.equal(result, 2 * x)


def test_simulate_kernel_takes_numpy_only():
    with pytest.raises(RuleError, match=r"use tensor\.numpy"):
        nki.simulate_kernel(doubled, torch.ones(3, 4))


VIEWS = {
    "transposed": lambda x: x.T,
    "strided": lambda x: x[::2, ::3],
    "reversed": lambda x: x[::-1, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], (7, 12)),
    "fortran": np.asfortranarray,
}


@pytest.mark.parametrize("name", VIEWS)
def test_arguments_need_not_be_contiguous(name):
    x = VIEWS[name](np.arange(120, dtype=np.float32).reshape(10, 12))
    np.testing.assert_array_equal(nki.simulate_kernel(doubled, x), 2 * x)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint16, ml_dtypes.bfloat16])
def test_every_dtype_of_nki_is_accepted(dtype):
    result = nki.simulate_kernel(doubled, X.astype(dtype))
    np.testing.assert_array_equal(result, (2 * X).astype(dtype))
    assert result.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex64, ">f4", object])
def test_other_dtypes_are_one_clear_error(dtype):
    with pytest.raises(RuleError, match=r"argument source has dtype .*astype"):
        nki.simulate_kernel(doubled, X.astype(dtype))


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        (np.array(1, np.float32), "argument"),
        (np.ones(4, np.float32), "dimensions"),
        (np.ones((0, 4), np.float32), "empty"),
        (np.ones((4, 0), np.float32), "empty"),
        (np.ones((129, 4), np.float32), "partitions"),
        (np.ones((2, 2, 2, 2, 2, 2), np.float32), "dimensions"),
    ],
)
def test_a_shape_that_does_not_fit_is_one_clear_error(array, rule):
    with pytest.raises(RuleError) as caught:
        nki.simulate_kernel(doubled, array)
    assert caught.value.rule.name == rule


def test_nan_and_infinity_pass_through():
    x = np.array([[np.nan, np.inf, -np.inf, 0]], dtype=np.float32)
    np.testing.assert_array_equal(nki.simulate_kernel(doubled, x), 2 * x)


def test_a_read_only_output_argument_is_an_error():
    out = np.empty_like(X)
    out.flags.writeable = False
    with pytest.raises(RuleError, match="immutable_argument"):
        nki.simulate_kernel(doubled_into, X, out)


def test_wrong_arguments_are_a_type_error():
    with pytest.raises(TypeError):
        nki.simulate_kernel(doubled, X, X)


def test_a_failed_kernel_leaves_no_run_behind():
    with pytest.raises(RuleError):
        nki.simulate_kernel(doubled, np.ones((129, 4), np.float32))
    np.testing.assert_array_equal(nki.simulate_kernel(doubled, X), 2 * X)
    with pytest.raises(RuleError, match="outside_kernel"):
        nl.zeros((2, 2), nl.float32)


def test_the_limits_of_another_core_are_chosen_by_aws_variable(monkeypatch):
    @nki.jit
    def kernel(source):
        nl.zeros((128, 50 * 1024), dtype=nl.float32)  # 200 KiB: v3 has 224
        return source

    with pytest.raises(RuleError, match="sbuf_capacity"):
        kernel(X)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    np.testing.assert_array_equal(kernel(X), X)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn9")
    with pytest.raises(ValueError, match="trn9"):
        kernel(X)


def test_install_makes_awss_imports_resolve():
    code = """
        import neuronsim
        neuronsim.install()
        neuronsim.install()
        import neuronxcc.nki as first
        import neuronxcc.nki.isa as nisa
        import neuronxcc.nki.language as nl
        import neuronxcc.nki.typing as nt
        from neuronxcc import nki as same
        import nki, nki.isa, nki.language
        assert first is same and nl.arange and nisa.tensor_copy and nt.tensor[3]
        assert nki.simulate and nki.isa.dma_copy and nki.language.load
        assert nki is not first
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize("package", ["neuronxcc", "nki"])
def test_install_refuses_to_shadow_a_real_package(package, tmp_path):
    (tmp_path / f"{package}.py").write_text("")
    code = "import neuronsim; neuronsim.install()"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"RuntimeError: {package} is installed" in done.stderr


def test_missing_names_of_the_packages_say_so():
    with pytest.raises(AttributeError, match=r"nki\.benchmark.*AWS's .* has it"):
        _ = nki.benchmark
    with pytest.raises(AttributeError, match="simulate_kernel"):
        _ = gen2.simulate_kernel
    assert neuronsim.record is not None

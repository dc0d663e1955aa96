"""Building, loading and calling correct operators; what the builder refuses."""

from pathlib import Path

import pytest
import torch

from neuronsim import gpsimd
from neuronsim.gpsimd import limits, toolchain

OPERATORS = Path(__file__).parent / "operators"
KERNEL = """\
#include <torch/torch.h>
torch::Tensor negate(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  auto from = x.accessor<float, 1>();
  auto to = out.accessor<float, 1>();
  for (int i = 0; i < x.numel(); ++i) to[i] = -from[i];
  return out;
}
"""
SHAPE = """\
#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor shape(torch::Tensor x) { return torch::zeros(x.sizes(), torch::kFloat); }
NEURON_LIBRARY(small, m) { m.def("negate", &shape, "negate"); }
"""


@pytest.fixture(scope="session")
def clean(tmp_path_factory):
    """Correct operators, built once; findings raise."""
    return gpsimd.load(
        name="clean",
        compute_srcs=[OPERATORS / "clean.cpp"],
        shape_srcs=[OPERATORS / "clean_shape.cpp"],
        build_directory=tmp_path_factory.mktemp("clean"),
    )


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("small")


@pytest.fixture
def load_small(shared):
    """Build a small operator from changed sources; what is unchanged is kept."""
    return lambda *sources, **options: load_in(shared, *sources, **options)


def load_in(folder, kernel=KERNEL, shape=SHAPE, **options):
    (folder / "kernel.cpp").write_text(kernel)
    (folder / "shape.cpp").write_text(shape)
    return gpsimd.load(
        name="small",
        compute_srcs=[folder / "kernel.cpp"],
        shape_srcs=[folder / "shape.cpp"],
        build_directory=folder / "built",
        **options,
    )


@pytest.mark.parametrize("name", ["relu_element", "relu_stream", "relu_tcm"])
def test_relu_through_each_accessor_equals_torch(clean, name):
    given = torch.randn(7, 31)
    output = getattr(torch.ops.gpsimd_clean, name)(given)
    assert torch.equal(output, given.relu())
    assert clean.report.coverage.share_written == 1


def test_a_tensor_that_is_not_contiguous_is_read_in_its_own_order(clean):
    given = torch.randn(6, 5).t()
    assert torch.equal(torch.ops.gpsimd_clean.relu_element(given), given.relu())


@pytest.mark.parametrize(
    "dtype",
    [
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.float16,
        torch.bfloat16,
        torch.float32,
    ],
)
def test_every_documented_dtype_computes_as_torch_does(clean, dtype):
    if dtype.is_floating_point:
        given = torch.cat([torch.randn(500), torch.tensor([0.0, -0.0, 1e-7, 3e-6])])
        given = given.to(dtype)
    else:
        given = torch.arange(-40, 60).abs().to(dtype)
    assert torch.equal(torch.ops.gpsimd_clean.twice(given), given + given)


def test_every_half_survives_the_way_through_float(clean):
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    for dtype in (torch.float16, torch.bfloat16):
        given = bits.view(dtype)
        output = torch.ops.gpsimd_clean.twice(given)
        torch.testing.assert_close(
            output, given + given, equal_nan=True, rtol=0, atol=0
        )


def test_scalar_double_and_integer_arguments_arrive(clean):
    output = torch.ops.gpsimd_clean.combine(torch.zeros(2, 3), 0.5, 2.25, 3)
    assert torch.equal(output, torch.full((2, 3), 5.75))


def test_core_0_prints_after_the_run(clean, capfd):
    torch.ops.gpsimd_clean.talk(torch.zeros(3))
    assert clean.report.printed == "core 0 sees 3 elements\ndone\n"
    assert capfd.readouterr().out == clean.report.printed


def test_the_shape_function_can_refuse_with_its_own_words(clean):
    with pytest.raises(
        gpsimd.ArgumentError, match=r"clean_shape\.cpp:\d+.*2 dimensions"
    ):
        torch.ops.gpsimd_clean.combine(torch.zeros(1, 1, 1), 1, 1.0, 1)


def test_a_shape_function_that_reads_data_is_told_so(clean):
    with pytest.raises(gpsimd.ArgumentError, match="must not read or write data"):
        torch.ops.gpsimd_clean.reads_data(torch.ones(3))


def test_torch_compile_sees_the_shape_and_runs_the_kernel(clean):
    @torch.compile(backend="eager", fullgraph=True)
    def model(x):
        return torch.ops.gpsimd_clean.relu_tcm(x) * 2

    given = torch.randn(4, 9)
    assert torch.equal(model(given), given.relu() * 2)


def test_a_meta_tensor_gets_its_shape_without_a_kernel(clean):
    clean.report = None
    output = torch.ops.gpsimd_clean.relu_tcm(torch.empty(5, 8, device="meta"))
    assert (output.shape, output.device.type) == ((5, 8), "meta")
    assert clean.report is None


@pytest.mark.parametrize(
    ("tensor", "complaint"),
    [
        (torch.zeros(3, dtype=torch.float64), "cannot enter a custom operator"),
        (torch.zeros([1] * 9), "allowed: 8 dimensions up to 65535"),
        (torch.zeros(1, 1, 1, 1, 70000), "allowed"),
    ],
)
def test_a_tensor_beyond_the_documented_limits_is_refused(clean, tensor, complaint):
    with pytest.raises(gpsimd.ArgumentError, match=complaint):
        torch.ops.gpsimd_clean.relu_tcm(tensor)


def test_four_dimensions_may_be_longer_than_eight():
    assert limits.shape_fits((1, 1, 1, 70_000))
    assert not limits.shape_fits((1, 1, 1, 1, 70_000))


def test_nothing_is_compiled_again_until_a_source_changes(tmp_path, monkeypatch):
    compiled = []
    original = toolchain.compile_source

    def count(source, *arguments):
        compiled.append(Path(source).name)
        return original(source, *arguments)

    monkeypatch.setattr(toolchain, "compile_source", count)
    load_in(tmp_path)
    assert sorted(compiled) == ["kernel.cpp", "shape.cpp"]
    load_in(tmp_path)
    load_in(tmp_path, multicore=True)
    assert len(compiled) == 2
    load_in(tmp_path, KERNEL.replace("-from[i]", "2 - from[i]"))
    assert compiled[2:] == ["kernel.cpp"]
    assert torch.equal(torch.ops.small.negate(torch.ones(3)), torch.ones(3))
    load_in(tmp_path, extra_cflags=["-DX"])
    assert sorted(compiled[3:]) == ["kernel.cpp", "shape.cpp"]
    assert torch.equal(torch.ops.small.negate(torch.ones(3)), -torch.ones(3))


def test_a_changed_header_is_compiled_again(tmp_path):
    (tmp_path / "sign.h").write_text("const float sign = -1;")
    kernel = '#include "sign.h"\n' + KERNEL.replace("-from[i]", "sign * from[i]")
    load_in(tmp_path, kernel)
    (tmp_path / "sign.h").write_text("const float sign = 3;")
    load_in(tmp_path, kernel)
    assert torch.equal(torch.ops.small.negate(torch.ones(2)), 3 * torch.ones(2))


def test_an_earlier_build_loads_by_its_path(load_small, shared):
    load_small()
    library = gpsimd.load_library(shared / "built" / "libsmall.so")
    assert library.name == "small"
    assert torch.equal(torch.ops.small.negate(torch.ones(2)), -torch.ones(2))


def test_an_older_version_still_runs_and_finds_its_lines(load_small):
    old = load_small(KERNEL.replace("from[i];", "from[i + 1];"))
    load_small()
    with pytest.raises(gpsimd.SanitizerError, match=r"kernel\.cpp:6 · out-of-bounds"):
        old.run("negate", [torch.ones(3)])


def test_a_path_without_a_build_says_so(tmp_path):
    with pytest.raises(gpsimd.BuildError, match="no host build"):
        gpsimd.load_library(tmp_path / "libnothing.so")


def test_a_compiler_error_shows_its_message_at_the_users_line(load_small):
    with pytest.raises(gpsimd.BuildError, match=r"kernel\.cpp:6:.*forgotten"):
        load_small(KERNEL.replace("-from[i]", "forgotten(from[i])"))


LARGE_FRAME = KERNEL.replace(
    "auto from", "volatile char room[9000]; room[x.numel()] = 1; auto from"
)
WRITES_CONST = KERNEL.replace(
    "auto from", "x.tcm_accessor().tcm_to_tensor<float>(nullptr, 0, 1); auto from"
)
UNDEFINED = "float missing(int);\n" + KERNEL.replace("-from[i]", "missing(1)")
ELEVEN = SHAPE.replace("{ m", "{ for (int i = 0; i < 11; ++i) m")
REFUSED = {
    "the kernel has another name": (
        KERNEL.replace("negate", "other"),
        SHAPE,
        r"no function negate.*other",
    ),
    "the kernel takes more than the shape function": (
        KERNEL.replace("& x)", "& x, float y)"),
        SHAPE,
        "must take the same arguments",
    ),
    "float instead of double": (
        KERNEL,
        SHAPE.replace("Tensor x)", "Tensor x, float y)"),
        "double or .*change this argument",
    ),
    "two libraries": (
        KERNEL,
        SHAPE + "NEURON_LIBRARY(two, m) {}",
        "2 NEURON_LIBRARY blocks",
    ),
    "no function": (
        KERNEL,
        SHAPE.replace('m.def("negate", &shape, "negate");', ""),
        "registers 0",
    ),
    "eleven functions": (KERNEL, ELEVEN, "registers 11"),
    "a frame larger than the stack": (LARGE_FRAME, SHAPE, r"kernel\.cpp:\d+.*larger"),
    "a const tensor is written": (
        WRITES_CONST,
        SHAPE,
        "const tensor and can only read",
    ),
    "an undefined function": (UNDEFINED, SHAPE, "undefined reference to `missing"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_work_on_a_device_does_not_build(load_small, why):
    kernel, shape, complaint = REFUSED[why]
    with pytest.raises(gpsimd.BuildError, match=complaint):
        load_small(kernel, shape)


def test_a_larger_stack_can_be_asked_for(load_small):
    load_small(LARGE_FRAME, extra_cflags=["-DSTACK_SIZE=20000"])
    with pytest.raises(gpsimd.BuildError, match="limit is 409600 bytes"):
        load_small(LARGE_FRAME, extra_cflags=["-DSTACK_SIZE=500000"])


def test_a_changed_signature_replaces_the_operator(load_small):
    load_small()
    load_small(
        KERNEL.replace("& x)", "& x, double y)").replace("-from[i]", "y * from[i]"),
        SHAPE.replace("Tensor x)", "Tensor x, double y)"),
    )
    assert torch.equal(torch.ops.small.negate(torch.ones(2), 3.0), 3 * torch.ones(2))


def test_a_missing_source_is_named():
    with pytest.raises(gpsimd.BuildError, match=r"No such source: nowhere\.cpp"):
        gpsimd.load(
            name="x",
            compute_srcs=["nowhere.cpp"],
            shape_srcs=["nowhere.cpp"],
            build_directory=".",
        )


def test_a_model_may_use_one_custom_library_and_no_sort(clean, load_small):
    load_small()

    class Model(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.forward = function

    def exported(function):
        return torch.export.export(Model(function), (torch.ones(3),))

    custom = torch.ops.gpsimd_clean
    used = gpsimd.check_model(exported(lambda x: custom.twice(x) + 1))
    assert used == {"gpsimd_clean.twice"}
    both = exported(lambda x: custom.twice(torch.ops.small.negate(x)))
    with pytest.raises(gpsimd.ArgumentError, match="2 custom libraries"):
        gpsimd.check_model(both)
    with pytest.raises(gpsimd.ArgumentError, match=r"torch\.sort"):
        gpsimd.check_model(exported(lambda x: custom.twice(x).sort()[0]))

"""helpers.neuron decides once whose NKI a kernel gets."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from helpers import neuron


def run(code, *, path):
    text = f"import sys; sys.path[:0] = [{str(path)!r}]\n{textwrap.dedent(code)}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)


def write_package(folder, name, nki_source):
    """A stand-in for AWS's package: <name> with nki, isa and language."""
    root = folder / name if name == "nki" else folder / name / "nki"
    root.mkdir(parents=True)
    (folder / name / "__init__.py").write_text("")
    (root / "__init__.py").write_text(nki_source)
    for module in ("isa", "language"):
        (root / f"{module}.py").write_text("")


def test_a_kernel_written_with_helpers_neuron_runs_here():
    nki, nl = neuron.nki, neuron.nl

    @nki.jit
    def add_one(numbers):
        out = nl.ndarray(numbers.shape, dtype=numbers.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(numbers) + 1)
        return out

    x = np.zeros((4, 4), dtype=np.float32)
    np.testing.assert_array_equal(nki.simulate_kernel(add_one, x), x + 1)
    assert neuron.BACKEND in ("neuronxcc", "simulator")


def test_awss_package_is_used_when_it_imports(tmp_path):
    write_package(tmp_path, "neuronxcc", "mark = 'aws'")
    code = "from helpers.neuron import *; import helpers.neuron as n"
    code += "\nprint(n.BACKEND, n.nki.mark, n.gen2.backend)"
    done = run(code, path=tmp_path)
    assert done.stdout.split() == ["neuronxcc", "aws", "simulator"], done.stderr


@pytest.mark.parametrize(
    ("source", "backend"), [("simulate = 1", "nki"), ("jit = 1", "simulator")]
)
def test_awss_second_generation_is_used_if_it_can_simulate(tmp_path, source, backend):
    write_package(tmp_path, "nki", source)
    code = "import helpers.neuron as n; print(n.BACKEND, n.gen2.backend)"
    done = run(code, path=tmp_path)
    assert done.stdout.split() == ["simulator", backend], done.stderr


def test_a_broken_installation_is_an_error_and_not_the_simulator(tmp_path):
    write_package(tmp_path, "neuronxcc", "import something_that_is_missing")
    done = run("import helpers.neuron", path=tmp_path)
    assert done.returncode == 1
    assert "something_that_is_missing" in done.stderr


def test_an_installed_simulator_is_not_taken_for_awss_package(tmp_path):
    code = """
        import neuronsim
        neuronsim.install()
        import helpers.neuron as n
        print(n.BACKEND, n.gen2.backend)
    """
    assert run(code, path=tmp_path).stdout.split() == ["simulator", "simulator"]

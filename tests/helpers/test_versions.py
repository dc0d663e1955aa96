"""A second PyTorch: found only if finished, made by command, read by its parts."""

import site
import subprocess
import sys
import venv
from importlib import metadata

import pytest

from helpers import environment, proof, versions, wheel
from helpers.proof import Witness
from helpers.race import race
from helpers.step import Step

HERE = metadata.version("torch").split("+")[0]
OTHER = next(v for v in versions.PAIRS if v != HERE)


def test_this_interpreter_is_found_and_a_missing_one_is_not(tmp_path):
    assert versions.find(HERE, tmp_path) == sys.executable
    assert versions.find(OTHER, tmp_path) is None


def test_an_interrupted_installation_is_not_found_a_finished_one_is(tmp_path):
    place = versions.folder(OTHER, tmp_path)
    (place / "bin").mkdir(parents=True)
    environment.python_of(place).touch()
    assert versions.find(OTHER, tmp_path) is None
    (place / environment.STAMP).write_text("finished")
    assert versions.find(OTHER, tmp_path) == str(environment.python_of(place))


def test_a_version_without_a_tested_pair_is_one_sentence():
    done = subprocess.run(
        [sys.executable, "-m", "helpers.versions", "1.0"],
        cwd=environment.ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no tested pair for torch 1.0; there are 2.9.1" in done.stderr
    assert "Traceback" not in done.stderr


def test_its_folder_is_ignored_by_git():
    place = versions.folder(OTHER)
    command = ["git", "check-ignore", "-q", f"{place.name}/"]
    assert subprocess.run(command, cwd=environment.ROOT).returncode == 0


def test_what_travels_between_the_two_has_the_same_version_in_both():
    pins = dict(line.split("==") for line in versions.requirements(OTHER).split())
    assert pins.pop("torch") == OTHER
    made_for = {name: pins.pop(name) for name in versions.PAIRS[OTHER]}
    assert made_for == versions.PAIRS[OTHER]
    assert pins == {name: metadata.version(name) for name in versions.SHARED}


def test_making_it_says_disk_and_time_before_it_begins(tmp_path, monkeypatch, capsys):
    said = []
    monkeypatch.setattr(environment, "choose_index", lambda: "pypi")
    monkeypatch.setattr(environment, "check_disk", lambda *_: None)
    monkeypatch.setattr(
        environment, "_pip", lambda *_: said.append(capsys.readouterr().out)
    )
    python = versions.make(OTHER, tmp_path)
    assert said[0].startswith(f"torch {OTHER} goes into .venv-torch-{OTHER}: about ")
    assert "minutes" in said[0]
    assert versions.make(OTHER, tmp_path) == versions.find(OTHER, tmp_path) == python
    assert len(said) == 1  # the second call found it


def test_too_little_disk_leaves_no_half_environment(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "choose_index", lambda: "pypi")
    monkeypatch.setattr(environment, "NEEDED_GB", {"cpu": 5, "pypi": 1e6})
    with pytest.raises(environment.CannotSetUp, match="1000000 GB are needed"):
        versions.make(OTHER, tmp_path)
    assert versions.find(OTHER, tmp_path) is None


def test_an_installation_that_stalls_is_ended(tmp_path, monkeypatch):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexec sleep 300\n")
    python.chmod(0o755)
    monkeypatch.setattr(environment, "PROGRESS_SECONDS", 0.1)
    monkeypatch.setattr(environment, "STALLED_SECONDS", 0.3)
    with pytest.raises(environment.CannotSetUp, match="nothing arrived for"):
        environment._pip(tmp_path, ["numpy"])


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """An interpreter in a folder of its own that borrows this one's packages."""
    folder = tmp_path_factory.mktemp("second") / ".venv-torch-borrowed"
    venv.create(folder, with_pip=False)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    return str(environment.python_of(folder))


def eager(model, batch):
    return lambda: model(batch)


def test_a_step_runs_in_the_second_interpreter_and_proves_it(second):
    steps = [
        Step("here", eager, proofs=[proof.torch_version(OTHER)]),
        Step("there", eager, proofs=[proof.torch_version(HERE)], python=second),
    ]
    ran = race(steps, model="resnet18_64px", batch_size=1, budget=0.3)
    assert (ran["here"].proven, ran["there"].proven) == (False, True)
    assert "in .venv-torch-borrowed" in ran["there"].findings[0].saw
    assert ran.speed_up("there", over="here") is not None


def test_both_interpreters_show_the_same_parts(second):
    assert versions.inside(second) == versions.inside(sys.executable)
    assert versions.inside(second)["torch"].startswith(HERE)
    assert versions.inside(second)["oneDNN"].startswith("3.")


def test_an_interpreter_without_torch_says_so(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(environment.python_of(tmp_path / "bare"))
    with pytest.raises(RuntimeError, match="No module named 'torch'"):
        versions.inside(python)


def test_the_proof_of_a_version_holds_for_no_other():
    witness = Witness(lambda: None)
    assert proof.torch_version(HERE)(witness).holds
    assert not proof.torch_version(OTHER)(witness).holds


# written after the symbols in torch 2.9.1's wheels: x86-64 names the kind directly,
# aarch64 names a pair and keeps one primitive of each
X86 = b"computation_cacheIN4dnnl19convolution_forward14primitive_descELm1024ENSt7"
ARM = b"computation_cacheISt4pairIN4dnnl6matmul14primitive_descES4_ELm1ENSt7__cxx"


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        (b"\0" + X86 + b"\0" + X86 + b"\0", "convolution (1024)"),
        (b"\0" + X86 + b"\0" + ARM + b"\0", "convolution (1024), matmul (1)"),
        (b"_ZN2at6native6mkldnn23clear_computation_cacheEv", "none"),
    ],
)
def test_the_users_of_the_primitive_cache_are_read_from_symbols(
    tmp_path, symbols, expected
):
    (tmp_path / "lib.so").write_bytes(symbols)
    assert wheel.cached(tmp_path / "lib.so") == expected


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [(b"\0mi_malloc_aligned\0", "mimalloc"), (b"\0posix_memalign\0", "malloc")],
)
def test_the_allocator_is_read_from_symbols(tmp_path, symbols, expected):
    (tmp_path / "lib.so").write_bytes(symbols)
    assert wheel.allocator(tmp_path / "lib.so").split()[0] == expected

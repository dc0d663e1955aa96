"""Setting up: refusals come before downloads, and a second call does nothing."""

import shutil
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from helpers import environment as env


@pytest.mark.parametrize("version", [(3, 10), (3, 14), (2, 7)])
def test_another_python_is_refused(version):
    with pytest.raises(env.CannotSetUp, match="pinned packages exist"):
        env.check_python(version)


def test_a_missing_compiler_is_one_sentence(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(env.CannotSetUp, match="apt-get install g\\+\\+"):
        env.check_compiler()


def test_missing_python_headers_are_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(env.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(env.CannotSetUp, match=r"no Python\.h"):
        env.check_compiler()


def test_too_little_disk_is_one_sentence(tmp_path):
    with pytest.raises(env.CannotSetUp, match="about 1000000 GB are needed"):
        env.check_disk(tmp_path / "not" / "there", 1e6)


def test_nothing_is_downloaded_when_something_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(
        env,
        "check_compiler",
        lambda: (_ for _ in ()).throw(env.CannotSetUp("no compiler")),
    )
    monkeypatch.setattr(env, "_pip", lambda *a: pytest.fail("pip ran"))
    with pytest.raises(env.CannotSetUp, match="no compiler"):
        env.create(tmp_path / "venv", env.ROOT / "requirements-graviton.txt")
    assert not (tmp_path / "venv").exists()


class Slow(BaseHTTPRequestHandler):
    delay = 0.0

    def do_GET(self):
        time.sleep(self.delay)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.mark.parametrize(("delay", "choice"), [(0.0, "cpu"), (30.0, "pypi")])
def test_the_index_is_chosen_by_whether_it_answers(delay, choice):
    handler = type("Handler", (Slow,), {"delay": delay})
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = time.monotonic()
    assert env.choose_index(f"http://127.0.0.1:{server.server_port}") == choice
    assert time.monotonic() - start < 20  # far below the 30 s that the server takes


def test_an_index_that_refuses_is_not_chosen():
    assert env.choose_index("http://127.0.0.1:1") == "pypi"


def test_the_cpu_index_gets_torch_and_the_rest_comes_from_the_file():
    requirements = env.ROOT / "requirements-graviton.txt"
    first, second, third = env._installs(requirements, "cpu", editable=True)
    assert [a.split("==")[0] for a in first[:2]] == ["torch", "torchvision"]
    assert first[-1] == env.CPU_INDEX
    assert second == ["-r", str(requirements)]
    assert third[-2] == "-e"
    assert len(list(env._installs(requirements, "pypi", editable=True))) == 2


def test_a_second_call_does_nothing_and_a_changed_file_does(tmp_path, monkeypatch):
    installs = []
    monkeypatch.setattr(
        env, "_pip", lambda folder, arguments: installs.append(arguments)
    )
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("numpy\n")
    folder = tmp_path / "venv"
    assert env.create(folder, requirements)
    assert env.python_of(folder).exists()
    assert not env.create(folder, requirements)
    assert len(installs) == 2
    requirements.write_text("numpy\nscipy\n")
    assert env.create(folder, requirements)
    assert len(installs) == 4


def test_a_failed_install_shows_pips_words_and_is_tried_again(tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("./no-such-package\n")
    command = [
        sys.executable,
        str(Path(env.__file__)),
        str(tmp_path / "v"),
        str(requirements),
    ]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert "cannot set up: pip failed" in done.stderr
        assert "no-such-package" in done.stderr


def test_the_file_runs_before_anything_is_installed():
    lines = Path(env.__file__).read_text().splitlines()
    imported = {
        line.split()[1] for line in lines if line.startswith(("import", "from"))
    }
    assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names)

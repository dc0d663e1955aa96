"""What many tests share: tiny notebooks, and the real command in its own process."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from helpers import status

PARAMETERS = 'profile = "quick"  # smoke, quick or full\nbatch = 8  # images'


@dataclass(frozen=True)
class Ran:
    """What a command left: exit status, output and, if there is one, a run folder."""

    code: int
    text: str
    out: Path

    @property
    def folder(self) -> Path:
        return (self.out / "latest").resolve()

    @property
    def run(self) -> status.RunStatus:
        return status.load(self.folder)

    def __getitem__(self, name: str) -> status.NotebookStatus:
        return next(n for n in self.run.notebooks if n.name == name)

    def executed(self, name: str) -> nbformat.NotebookNode:
        path = self.folder / name / f"{name}.ipynb"
        return nbformat.read(path, as_version=4)


@pytest.fixture
def make_notebook(tmp_path):
    """A function that writes a notebook with a parameters cell and the given cells."""

    def make(name, *codes, parameters=PARAMETERS, series=None, cells=()):
        tagged = {"tags": ["parameters"]}
        book = nbformat.v4.new_notebook()
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        book.metadata["series"] = {"title": name, **(series or {})}
        book.cells = [nbformat.v4.new_markdown_cell(f"# {name}")]
        if parameters is not None:
            cell = nbformat.v4.new_code_cell(parameters, metadata=tagged)
            book.cells.append(cell)
        book.cells += [nbformat.v4.new_code_cell(code) for code in codes]
        book.cells += cells
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(book, path)
        return path

    return make


@pytest.fixture(scope="session")
def command():
    """A function that gives ``python -m helpers <arguments>`` as a list."""
    start = [sys.executable, "-m", "helpers"]
    return lambda *arguments: start + [str(part) for part in arguments]


@pytest.fixture
def run_command(tmp_path, command):
    """A function that runs ``python -m helpers run ... --out <tmp>/runs``."""

    def run(*arguments, out=tmp_path / "runs"):
        done = subprocess.run(
            command("run", *arguments, "--out", out),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return Ran(done.returncode, done.stdout, out)

    return run


@pytest.fixture
def read_json():
    return lambda path: json.loads(Path(path).read_text(encoding="utf-8"))

"""Each notebook runs once, by the real runner, in the smoke profile.

In that one run every exercise is checked twice: as it stands (✗ is expected), and with
its solution put in its place (✓ is expected).
"""

import copy
import functools
import json
import re
import subprocess
from pathlib import Path

import pytest

from helpers import cells, status

PATHS = sorted(cells.NOTEBOOKS.glob("*.ipynb"))
EXERCISES = [
    pytest.param(path, name, id=f"{path.stem}-{name}")
    for path in PATHS
    for name in cells.tags(path, "exercise")
]
BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
IMAGES = ("image/svg+xml", "image/png")


def with_solutions(book: dict) -> dict:
    """After each check: the solution, what lies between it and its check, the check."""
    made: list[dict] = []
    since: list[dict] = []  # code cells after the last exercise
    solutions = {
        tag.partition(":")[2]: BLOCK.findall("".join(cell["source"]))
        for cell in book["cells"]
        for tag in cell["metadata"].get("tags", [])
        if tag.startswith("solution:")
    }
    for cell in book["cells"]:
        made.append(cell)
        kinds = dict(
            tag.split(":", 1) for tag in cell["metadata"].get("tags", []) if ":" in tag
        )
        if "exercise" in kinds:
            since = []
        elif cell["cell_type"] == "code":
            since.append(cell)
        if "check" in kinds:
            code = "\n".join(solutions[kinds["check"]])
            made.append(again(cell, code, "solved"))
            made += [again(c, "".join(c["source"]), "between") for c in since[:-1]]
            text = "".join(cell["source"])
            made.append(again(cell, text, f"solved-check:{kinds['check']}"))
    return book | {"cells": made}


def again(cell: dict, text: str, tag: str) -> dict:
    """A copy of a code cell with another text and tag."""
    twin = copy.deepcopy(cell)
    twin |= {"source": text, "metadata": {"tags": [tag]}}
    twin["id"] = f"{abs(hash((text, tag))):x}"[:8] + cell["id"][:20]
    return twin


@pytest.fixture(scope="session")
def executed(tmp_path_factory, command):
    """A function: path of a notebook -> its status and its executed cells."""
    place = tmp_path_factory.mktemp("smoke")

    @functools.cache
    def execute(path: Path):
        book = with_solutions(json.loads(path.read_text(encoding="utf-8")))
        (place / path.name).write_text(json.dumps(book), encoding="utf-8")
        out = place / path.stem
        start = command("run", place / path.name, "--profile", "smoke", "--out", out)
        subprocess.run(start, check=False, timeout=580)
        folder = (out / "latest").resolve()
        entry = status.load(folder).notebooks[0]
        done = folder / path.stem / path.name
        ran = (
            json.loads(done.read_text(encoding="utf-8"))["cells"]
            if done.is_file()
            else []
        )
        return entry, ran

    return execute


@pytest.fixture
def ran(executed):
    """The executed cells; a test of a notebook that cannot run here is skipped."""

    def get(path: Path):
        entry, done = executed(path)
        if entry.status == status.SKIPPED:
            pytest.skip(entry.reason)
        return done

    return get


def verdict(done: list[dict], tag: str) -> str:
    """What a check's cell showed."""
    cell = next(c for c in done if tag in c["metadata"].get("tags", []))
    shown = [output for output in cell["outputs"] if "data" in output]
    assert shown, f"the cell {tag} shows nothing: {cell['outputs']}"
    return "".join(shown[-1]["data"]["text/plain"])


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_the_notebook_runs(executed, path):
    entry, _ = executed(path)
    if entry.status == status.SKIPPED:
        pytest.skip(entry.reason)
    assert (entry.status, entry.reason) == ("passed", "")


@pytest.mark.parametrize(("path", "name"), EXERCISES)
def test_an_untouched_exercise_does_not_pass(ran, path, name):
    assert verdict(ran(path), f"check:{name}").startswith("✗ ")


@pytest.mark.parametrize(("path", "name"), EXERCISES)
def test_the_solution_passes(ran, path, name):
    assert verdict(ran(path), f"solved-check:{name}").startswith("✓ ")


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_every_figure_has_alt_text(ran, path):
    for number, cell in enumerate(ran(path), start=1):
        for output in cell.get("outputs", []):
            for mime in IMAGES:
                if mime in output.get("data", {}):
                    alt = output["metadata"].get(mime, {}).get("alt", "")
                    assert len(alt) >= 20, (
                        f"the figure of cell {number} has no alt text"
                    )

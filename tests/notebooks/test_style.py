"""Every notebook keeps the form that CONTRIBUTING.md describes."""

import ast
import itertools
import json
import re
import warnings
from pathlib import Path

import pytest

from helpers import cells, parameters

PATHS = sorted(cells.NOTEBOOKS.glob("*.ipynb"))
WARN_LINES, MAX_LINES, MAX_COLUMNS = 20, 25, 88
ENDING = ["## What the numbers say", "## Exercises", "## Next"]
BADGES = {"inf2": "inf2", "c8g": "c8g", "cpu": "any CPU"}
ABSOLUTE = re.compile(r"(?<![\w.~/])/(?:home|root|work|tmp|usr|opt|mnt|Users)\b")
SHELL = re.compile(r"^\s*[!%]|\bpip install\b|get_ipython", re.MULTILINE)
BADGE_LINE = re.compile(
    r"\*\*Runs on:\*\* (.+) — \*\*Quick profile:\*\* about (.+) min"
)


class Notebook:
    """A notebook as its source says it is."""

    def __init__(self, path: Path):
        self.path = path
        self.book = json.loads(path.read_text(encoding="utf-8"))
        self.cells = self.book["cells"]
        self.series = self.book["metadata"].get("series", {})

    def sources(self, kind: str) -> list[str]:
        return [source(cell) for cell in self.cells if cell["cell_type"] == kind]

    def headings(self) -> list[str]:
        prose = "\n".join(self.sources("markdown"))
        without_code = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
        return re.findall(r"^#{1,6} .+$", without_code, re.MULTILINE)

    def tagged(self, tag: str) -> tuple[int, dict]:
        found = [(i, cell) for i, cell in enumerate(self.cells) if tag in tags(cell)]
        assert len(found) == 1, f"{len(found)} cells are tagged {tag}"
        return found[0]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


@pytest.fixture(params=PATHS, ids=[path.stem for path in PATHS])
def notebook(request):
    return Notebook(request.param)


def test_there_are_notebooks():
    assert PATHS


def test_it_is_committed_without_outputs(notebook):
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in code)
    assert all(cell["execution_count"] is None for cell in code)
    assert {key for cell in notebook.cells for key in cell["metadata"]} <= {"tags"}


def test_its_format_and_kernel_are_those_of_the_series(notebook):
    assert (notebook.book["nbformat"], notebook.book["nbformat_minor"]) == (4, 5)
    assert notebook.book["metadata"]["kernelspec"]["name"] == "python3"
    assert "jupytext" not in notebook.book["metadata"]
    assert set(notebook.series) == {"title", "runs_on", "needs", "minutes"}
    assert "quick" in notebook.series["minutes"]


def test_its_first_cell_says_what_it_gives_and_where_it_runs(notebook):
    first = source(notebook.cells[0])
    title, *_, badges = first.strip().split("\n")
    assert title.startswith(f"# {notebook.path.stem[:2]} · ")
    assert "You will be able to" in first
    assert len(re.findall(r"^(?:-|\d\.) ", first, re.MULTILINE)) == 3
    found = BADGE_LINE.fullmatch(badges)
    assert found, f"the last line of the first cell is {badges!r}"
    assert found[1] == " · ".join(BADGES[chip] for chip in notebook.series["runs_on"])


def test_it_has_one_parameters_cell_with_a_comment_each(notebook):
    declared = parameters.declared(notebook.path, notebook.cells)
    assert declared["profile"] == "quick"
    text = source(notebook.tagged("parameters")[1])
    for statement in ast.parse(text).body:
        line = text.split("\n")[statement.lineno - 1]
        assert "#" in line, f"no comment: {line}"


def test_its_code_cells_are_short(notebook):
    for text in notebook.sources("code"):
        count = len(text.split("\n"))
        start = f"{notebook.path.name}, the cell {text.split(chr(10))[0]!r}"
        assert count <= MAX_LINES, f"{start}... has {count} lines"
        if count > WARN_LINES:
            warnings.warn(f"{start}... has {count} lines", stacklevel=1)


def test_its_lines_are_not_too_long(notebook):
    lines = [line for cell in notebook.cells for line in source(cell).split("\n")]
    # a table row or a link cannot be broken
    wide = [x for x in lines if len(x) > MAX_COLUMNS and x[:1] != "|" and "](" not in x]
    assert wide == []


def test_it_calls_no_shell_and_names_no_absolute_path(notebook):
    for text in notebook.sources("code"):
        assert not SHELL.search(text), SHELL.search(text)
    for cell in notebook.cells:
        assert not ABSOLUTE.search(source(cell)), ABSOLUTE.search(source(cell))


def test_its_figures_come_with_alt_text(notebook):
    """pyplot's figures carry none; those of helpers.plots do."""
    assert not any("pyplot" in text for text in notebook.sources("code"))
    assert not any("ipywidgets" in text for text in notebook.sources("code"))


def test_its_headings_make_a_table_of_contents(notebook):
    headings = notebook.headings()
    levels = [len(heading.split(" ")[0]) for heading in headings]
    assert levels.count(1) == 1
    assert levels[0] == 1
    steps = [after - before for before, after in itertools.pairwise(levels)]
    assert max(steps) <= 1
    assert [heading for heading in headings if heading in ENDING] == ENDING
    assert headings[-1] == ENDING[-1]


def test_it_has_exercises_with_checks_and_folded_solutions(notebook):
    names = cells.tags(notebook.path, "exercise")
    assert 2 <= len(names) <= 4
    assert names == cells.tags(notebook.path, "check")
    assert names == cells.tags(notebook.path, "solution")
    for name in names:
        places = [
            notebook.tagged(f"{kind}:{name}")
            for kind in ("exercise", "check", "solution")
        ]
        assert [index for index, _ in places] == sorted(index for index, _ in places)
        exercise, checked, solution = (source(cell) for _, cell in places)
        assert "..." in exercise
        assert ast.unparse(ast.parse(checked).body[-1]).startswith("check.")
        assert solution.startswith("<details><summary>Solution</summary>\n\n")
        assert "\n```python\n" in solution
        assert solution.rstrip().endswith("</details>")


def test_a_tag_is_used_once(notebook):
    every = [tag for cell in notebook.cells for tag in tags(cell)]
    assert len(every) == len(set(every))


def test_links_to_other_notebooks_lead_somewhere(notebook):
    text = "\n".join(notebook.sources("markdown"))
    targets = re.findall(r"\]\(([^)#:]+\.ipynb)", text)
    missing = [name for name in targets if not (cells.NOTEBOOKS / name).is_file()]
    assert missing == []

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from helpers import parameters, plan, run, status, supervise
from helpers.progress import Progress
from helpers.status import NotebookStatus, RunError, RunStatus

CELL = """\
profile = "quick"  # smoke, quick or full
batch: int = 8  # images
ratio = 0.5
fast = False
sizes = [1, 2]
seed = None
"""


def cells(source=CELL):
    return [
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": source}
    ]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("profile", "smoke", "smoke"),
        ("batch", "16", 16),
        ("ratio", "2", 2.0),
        ("ratio", "1e-3", 0.001),
        ("fast", "true", True),
        ("sizes", "[4, 8]", [4, 8]),
        ("seed", "7", 7),
        ("batch", 4, 4),
    ],
)
def test_text_becomes_the_type_of_the_default(name, text, value):
    resolved = parameters.resolve(Path("a.ipynb"), cells(), {name: text})
    assert resolved == {name: value}
    assert type(resolved[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("batch", "8.0"),
        ("batch", "eight"),
        ("batch", True),
        ("ratio", "half"),
        ("fast", "1"),
        ("sizes", "4"),
        ("sizes", "[4"),
        ("profile", 3),
        ("seed", "not a literal"),
    ],
)
def test_a_wrong_type_is_one_clear_error(name, text):
    with pytest.raises(
        RunError, match=rf"Parameter {name} of a\.ipynb is .* was given"
    ):
        parameters.resolve(Path("a.ipynb"), cells(), {name: text})


@pytest.mark.parametrize("source", ["x = f(1)", "import os", "x, y = 1, 2", "x = ("])
def test_a_parameters_cell_holds_only_literals(source):
    with pytest.raises(RunError, match="may hold only lines like"):
        parameters.declared(Path("a.ipynb"), cells(source))


def a_run(**entries):
    notebooks = [
        NotebookStatus(
            name=name, title=name, path=f"{name}.ipynb", parameters={}, **fields
        )
        for name, fields in entries.items()
    ]
    return RunStatus(
        id="r",
        profile="smoke",
        parameters={},
        deadline=60.0,
        started="2026-11-30T00:00:00+00:00",
        machine={"chip": "x86-64"},
        notebooks=notebooks,
    )


def test_a_status_is_read_as_it_was_written(tmp_path):
    before = a_run(a={"status": "passed", "seconds": 1.5}, b={"status": "skipped"})
    before.state = "finished"
    status.save(tmp_path, before)
    assert status.load(tmp_path) == before
    assert before.good
    assert before.count() == {"passed": 1, "skipped": 1}


def test_a_killed_runner_leaves_an_interrupted_run(tmp_path):
    status.save(tmp_path, a_run(a={"status": "passed"}, b={"status": "running"}))
    seen = status.load(tmp_path)
    assert seen.state == "interrupted"
    assert [n.status for n in seen.notebooks] == ["passed", "interrupted"]
    assert not seen.good


def test_a_run_that_is_executed_is_running(tmp_path):
    status.save(tmp_path, a_run(b={"status": "running"}))
    with status.lock(tmp_path):
        assert status.load(tmp_path).state == "running"
    assert status.load(tmp_path).state == "interrupted"


def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch):
    status.save(tmp_path, a_run(a={"status": "passed"}))

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        status.save(tmp_path, a_run(a={"status": "failed"}))
    assert status.load(tmp_path).notebooks[0].status == "passed"
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": 1}', '{"notebooks": [3]}'])
def test_a_broken_status_is_one_clear_error(tmp_path, text):
    (tmp_path / "status.json").write_text(text)
    with pytest.raises(RunError, match="is not a status file"):
        status.load(tmp_path)


JOB = supervise.Job(
    Path("i"), Path("o"), Path("f"), parameters={}, deadline=9.0, environment={}
)
ALL_RAN = {"code_cells": [1, 2], "started": [1, 2], "done": {1: "", 2: ""}}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (ALL_RAN | {"end": {"how": "complete"}, "returncode": 0}, "passed"),
        (ALL_RAN | {"end": {"how": "error"}, "returncode": 0}, "failed"),
        (ALL_RAN | {"done": {1: ""}, "end": {"how": "complete"}}, "failed"),
        (ALL_RAN | {"done": {1: "", 2: "E: x"}, "end": {"how": "complete"}}, "failed"),
        ({"code_cells": [], "end": {"how": "complete"}}, "failed"),
        (ALL_RAN | {"end": {"how": "timeout"}}, "timed out"),
        (ALL_RAN | {"end": {}, "killed": True}, "timed out"),
        (ALL_RAN | {"end": {}, "returncode": 0}, "crashed"),
        (ALL_RAN | {"end": {"how": "dead", "status": -11}}, "crashed"),
        (ALL_RAN | {"end": {"how": "lost"}}, "crashed"),
        (ALL_RAN | {"end": {"how": "broken", "error": "X: y"}}, "crashed"),
    ],
)
def test_only_a_complete_run_of_every_cell_has_passed(seen, expected):
    verdict, reason = supervise.verdict(supervise.Outcome(**seen), JOB)
    assert verdict == expected
    assert bool(reason) == (expected != "passed")


def test_the_results_folder_and_the_environment_are_recorded(
    make_notebook, run_command, read_json, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not for a report")
    write = "import os, pathlib\nhere = os.environ['SERIES_RESULTS']\n"
    write += "pathlib.Path(here, 'r.json').write_text('{}')\n"
    write += "os.environ['DNNL_VERBOSE'] = '1'"
    ran = run_command(make_notebook("01_a", write, "batch"), "-p", "batch=3")
    assert ran.code == 0, ran.text
    assert "OMP_NUM_THREADS=1 is set" in ran.text
    folder = ran.folder / "01_a"
    assert (folder / "r.json").is_file()
    seen = read_json(folder / "environment.json")
    assert seen["machine"]["versions"]["numpy"]
    before, after = seen["kernel"]["before"], seen["kernel"]["after"]
    assert before["variables"]["OMP_NUM_THREADS"] == "1"
    assert set(after["variables"]) - set(before["variables"]) == {"DNNL_VERBOSE"}
    assert "not for a report" not in json.dumps(seen)
    assert len(before["cpus"]) == seen["machine"]["cores"]
    assert ran.executed("01_a").cells[-1].outputs[0].data["text/plain"] == "3"
    assert "[1/1] 01_a passed in" in ran.text


def test_the_expected_duration_comes_from_the_newest_passed_run(tmp_path):
    for day, seconds in (("2026-01-01", 10.0), ("2026-01-02", 20.0)):
        (tmp_path / day).mkdir()
        done = a_run(a={"status": "passed", "seconds": seconds})
        status.save(tmp_path / day, done)
    (tmp_path / "2026-01-03").mkdir()
    failed = a_run(a={"status": "failed", "seconds": 1.0}, b={})
    status.save(tmp_path / "2026-01-03", failed)
    here = tmp_path / "2026-01-04"
    assert run._expected(here, failed, failed.notebooks[0]) == 20.0
    assert run._expected(here, failed, failed.notebooks[1]) is None


def test_notebooks_are_found_by_name_number_or_path(tmp_path, monkeypatch):
    for name in ("00_start", "07_base", "08_next"):
        (tmp_path / f"{name}.ipynb").write_text("{}")
    monkeypatch.setattr(plan, "NOTEBOOKS", tmp_path)
    found = plan.choose(["07", "08_next", str(tmp_path / "00_start.ipynb")])
    assert [path.stem for path in found] == ["07_base", "08_next", "00_start"]
    assert len(plan.choose([])) == 3
    with pytest.raises(RunError, match="names 0 notebooks"):
        plan.choose(["99"])


def test_the_same_notebook_twice_is_refused(make_notebook, run_command):
    book = make_notebook("01_a", "x = 1")
    ran = run_command(book, book)
    assert (ran.code, ran.out.exists()) == (2, False)
    assert "01_a is asked for twice" in ran.text


def test_progress_is_line_by_line_without_a_terminal_and_live_on_one():
    shown = a_run(a={"expected": 90.0, "cells": 4})
    notebook = shown.notebooks[0]
    texts = {}
    for terminal in (False, True):
        file = io.StringIO()
        console = Console(file=file, force_terminal=terminal, width=100)
        progress = Progress(shown, console)
        progress.begin(notebook)
        progress.tick(notebook, cell=2, seconds=5.0)
        notebook.status, notebook.seconds = "failed", 61.0
        progress.end(notebook)
        texts[terminal] = file.getvalue()
    assert texts[False].splitlines() == [
        "[1/1] a started, about 1 min 30 s expected",
        "✗ [1/1] a failed in 1 min 1 s",
    ]
    assert "cell 2 of 4 · 5.0 s of about 1 min 30 s" in texts[True]

"""Runs of several machines in one view."""

import json

import pytest

from helpers import merge, status
from helpers.machine import describe

HERE = describe().as_dict()
INF2 = HERE | {"name": "an inf2", "chip": "inferentia2", "neuron_devices": 1}
C8G = HERE | {"name": "a c8g", "chip": "graviton4", "neuron_devices": 0}


@pytest.fixture
def make_run(tmp_path):
    """Write a run folder: notebooks by name, each with its status."""

    def make(name, machine, books, started="2026-12-01", profile="quick"):
        folder = tmp_path / name
        run = status.RunStatus(name, profile, {}, 60, started, machine)
        run.state, run.finished = "finished", started
        for book, state in books.items():
            (folder / book).mkdir(parents=True)
            first = "inf2" if book < "07" else "c8g"
            text = json.dumps({"metadata": {"series": {"runs_on": [first, "cpu"]}}})
            (folder / book / f"{book}.ipynb").write_text(text)
            entry = status.NotebookStatus(book, book, f"{book}.ipynb", {}, status=state)
            run.notebooks.append(entry)
        status.save(folder, run)
        return folder

    return make


def shown(sources):
    return {source.name: source.machine["name"] for source in sources}


def test_each_notebook_comes_from_the_machine_it_is_written_for(make_run):
    books = {"02_nki": "passed", "09_batching": "passed"}
    runs = [make_run("a", INF2, books), make_run("b", C8G, books)]
    for order in (runs, runs[::-1]):
        whole, sources = merge.view(order)
        assert shown(sources) == {"02_nki": "an inf2", "09_batching": "a c8g"}
        left = [w for w in whole.warnings if "not shown" in w]
        assert len(left) == 2
        assert any(w.startswith("02_nki also ran on a c8g") for w in left)


def test_what_passed_comes_before_what_is_at_home(make_run):
    runs = [
        make_run("a", INF2, {"02_nki": "crashed"}),
        make_run("b", C8G, {"02_nki": "passed"}),
    ]
    whole, sources = merge.view(runs)
    assert shown(sources) == {"02_nki": "a c8g"}
    assert whole.good


def test_of_equals_the_newest_is_shown(make_run):
    runs = [
        make_run("new", C8G, {"09_batching": "passed"}, started="2026-12-02"),
        make_run("old", C8G, {"09_batching": "passed"}, started="2026-12-01"),
    ]
    _, sources = merge.view(runs)
    assert [source.folder.parent.name for source in sources] == ["new"]


def test_parts_of_the_series_stand_side_by_side(make_run):
    runs = [
        make_run("a", INF2, {"02_nki": "passed"}),
        make_run("b", C8G, {"09_batching": "failed"}),
    ]
    whole, sources = merge.view(runs)
    assert whole.id == "a + b"
    assert (whole.count(), whole.good) == ({"passed": 1, "failed": 1}, False)
    assert [source.executed.is_file() for source in sources] == [True, True]


def test_runs_of_different_profiles_are_not_merged(make_run):
    books = {"02_nki": "passed"}
    runs = [make_run("a", INF2, books), make_run("b", C8G, books, profile="smoke")]
    with pytest.raises(status.RunError, match="profiles differ"):
        merge.view(runs)

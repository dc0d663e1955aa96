"""Result files: pyperf reads them, and half a file is an error."""

import json
import subprocess
import sys

import pytest

from helpers import results
from helpers.drift import Drift
from helpers.machine import describe
from helpers.memory import Memory
from helpers.outcome import Heat, Outcome, Race
from helpers.proof import Finding
from helpers.window import Window


def made_race():
    def outcome(name, scale, **fields):
        rounds = [[scale * (1 + 0.01 * r), scale * 1.02] for r in range(8)]
        setup = {"build_seconds": 0.5, "first_call_seconds": 0.1}
        fields |= {"warm_ups": [scale], "launches": [5, 3]}
        return Outcome(name, rounds=rounds, setup=setup, **fields)

    base = outcome("eager", 0.02, drift=Drift(float("inf"), 1.0))
    proven = outcome(
        "fast",
        0.01,
        findings=(Finding("compiled", True, "1 graph"),),
        memory=(Memory("process", 7.0, 5.0, 1.0),),
        processes=2,
        windows=[Window(0.5, (((0.0, 0.3), (0.3, 0.6)), ((0.1, 0.5),)))],
    )
    failed = Outcome("broken", failure="ValueError: <no>")
    heats = (Heat(0, outcome("anchor", 0.005), (base, proven, failed)),)
    return Race("resnet18_64px", 2, describe(), heats)


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.setenv("SERIES_RESULTS", str(tmp_path / "made" / "later"))
    return results.save(made_race(), "ladder")


def pyperf_stats(path) -> str:
    command = [sys.executable, "-m", "pyperf", "stats", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_is_saved_is_what_is_loaded(saved):
    assert results.load(saved) == made_race()


def test_pyperf_reads_a_result_file(saved):
    stats = pyperf_stats(saved)
    assert "fast" in stats
    assert "Total number of values: 16" in " ".join(stats.split())


def test_a_step_without_samples_has_no_invented_ones(saved):
    stats = pyperf_stats(saved)
    assert "Number of benchmarks: 3" in stats
    assert results.load(saved)["broken"].failure == "ValueError: <no>"


def test_a_race_without_any_sample_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setenv("SERIES_RESULTS", str(tmp_path))
    heat = Heat(0, Outcome("anchor", failure="x"), (Outcome("a", failure="x"),))
    with pytest.raises(results.BadResult, match="no step was measured"):
        results.save(Race("resnet50", 1, describe(), (heat,)), "empty")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", "x" * 300])
def test_a_race_is_not_saved_elsewhere(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SERIES_RESULTS", str(tmp_path))
    with pytest.raises(ValueError, match="no name for a file"):
        results.save(made_race(), name)


def test_half_a_file_is_an_error_that_says_so(saved):
    text = saved.read_text()
    saved.write_text(text[: len(text) // 2])
    with pytest.raises(results.BadResult, match="not a complete result file"):
        results.load(saved)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"version": "1.0"}'])
def test_something_else_is_an_error_that_says_so(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(results.BadResult, match="not a complete result file"):
        results.load(path)


def test_a_newer_schema_is_refused(saved):
    suite = saved.read_text().replace('\\"schema\\": 3', '\\"schema\\": 99')
    assert json.loads(suite)
    saved.write_text(suite)
    with pytest.raises(results.BadResult, match="schema 99"):
        results.load(saved)


def test_nothing_but_the_result_is_left_in_the_folder(saved):
    assert [p.name for p in saved.parent.iterdir()] == ["ladder.race.json"]

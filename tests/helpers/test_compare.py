"""Comparing two runs: what is a change, what is noise, what cannot be compared."""

import dataclasses
import subprocess

import numpy as np
import pytest

from helpers import compare, results, status
from helpers.drift import Drift
from helpers.machine import describe
from helpers.outcome import Heat, Outcome, Race
from helpers.proof import Finding

ROUNDS = 12


def outcome(name, seconds, rng, noise=0.02, **fields):
    rounds = [[seconds * np.exp(rng.normal(0, noise))] for _ in range(ROUNDS)]
    fields.setdefault("drift", Drift(50.0, 1.0))
    fields.setdefault("findings", (Finding("compiled", True, "1 graph"),))
    setup = {"build_seconds": 0.1, "first_call_seconds": 0.1}
    return Outcome(name, rounds=rounds, setup=setup, **fields)


@pytest.fixture
def make_run(tmp_path, monkeypatch):
    """Write a run folder with one race of eager and fast; returns its path."""

    def make(
        name, seed, fast=0.010, weather=1.0, machine=None, state="passed", **fields
    ):
        rng = np.random.default_rng(seed)
        machine = machine or describe()
        folder = tmp_path / name
        book = status.NotebookStatus("10_x", "x", "10_x.ipynb", {}, status=state)
        run = status.RunStatus(name, "quick", {}, 60, "now", machine.as_dict())
        run.notebooks = [book]
        (folder / "10_x").mkdir(parents=True)
        status.save(folder, run)
        base = outcome("eager", 0.02 * weather, rng)
        step = outcome("fast", fast * weather, rng, **fields)
        heat = Heat(0, outcome("anchor", 0.005 * weather, rng), (base, step))
        monkeypatch.setenv("SERIES_RESULTS", str(folder / "10_x"))
        results.save(Race("resnet50", 8, machine, (heat,)), "ladder")
        return folder

    return make


def verdict(found, step="fast"):
    return next(v for v in found if v.step == step)


def test_a_busier_day_is_not_a_regression(make_run):
    found = compare.compare([make_run("a", 1)], make_run("b", 2, weather=1.7))
    assert [v.verdict for v in found] == ["same", "same"]
    assert verdict(found).new_ms > 1.5 * verdict(found).old_ms


def test_a_slow_down_of_ten_percent_is_one(make_run):
    found = compare.compare([make_run("a", 1)], make_run("b", 2, fast=0.011))
    assert verdict(found).verdict == "slower"
    assert verdict(found).regression
    assert verdict(found, "eager").verdict == "same"


def test_a_speed_up_is_no_regression(make_run):
    found = compare.compare([make_run("a", 1)], make_run("b", 2, fast=0.008))
    assert verdict(found).verdict == "faster"
    assert not verdict(found).regression


def test_a_change_below_the_floor_is_none(make_run):
    base, new = make_run("a", 1), make_run("b", 2, fast=0.011)
    assert verdict(compare.compare([base], new, floor=0.2)).verdict == "same"


def test_samples_that_are_too_short_are_not_judged(make_run):
    found = compare.compare(
        [make_run("c", 1, fast=1e-3)], make_run("d", 2, fast=1.5e-3)
    )
    assert verdict(found).verdict == "too short"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"findings": (Finding("compiled", False, "0 graphs"),)}, "proof lost"),
        ({"drift": Drift(30.0, 1.0)}, "accuracy lost"),
        ({"drift": Drift(50.0, 0.5)}, "accuracy lost"),
        ({"failure": "out of memory"}, "fails now"),
    ],
)
def test_speed_is_not_all_that_can_be_lost(make_run, fields, expected):
    found = compare.compare([make_run("a", 1)], make_run("b", 2, **fields))
    assert verdict(found).verdict == expected
    assert verdict(found).regression


def test_rounding_is_not_accuracy(make_run):
    base = make_run("a", 1, drift=Drift(float("inf"), 1.0))
    found = compare.compare([base], make_run("b", 2, drift=Drift(110.0, 1.0)))
    assert verdict(found).verdict == "same"


def test_a_notebook_that_fails_now_is_a_regression(make_run):
    found = compare.compare([make_run("a", 1)], make_run("b", 2, state="crashed"))
    assert any(v.verdict == "fails now" and v.notebook == "10_x" for v in found)


def test_runs_without_a_common_step_cannot_be_compared(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    (new / "10_x" / "ladder.race.json").rename(new / "10_x" / "other.race.json")
    with pytest.raises(compare.CannotCompare, match="no step in common"):
        compare.compare([base], new)


def test_a_step_without_partner_is_listed(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    ladder = new / "10_x" / "ladder.race.json"
    ladder.write_text(ladder.read_text().replace("fast", "quick"))
    found = {v.step: v.verdict for v in compare.compare([base], new)}
    assert found == {"eager": "same", "fast": "not run now", "quick": "new"}


def test_other_json_in_a_run_is_not_a_race_and_half_a_race_is_an_error(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    (base / "10_x" / "environment.json").write_text('{"machine": {}}')
    assert verdict(compare.compare([base], new)).verdict == "same"
    ladder = new / "10_x" / "ladder.race.json"
    ladder.write_text(ladder.read_text()[:500])
    with pytest.raises(status.RunError, match="not a complete result file"):
        compare.compare([base], new)


def test_another_machine_is_refused_unless_asked(make_run):
    other = dataclasses.replace(describe(), name="AWS Graviton4")
    base, new = make_run("a", 1), make_run("b", 2, machine=other)
    with pytest.raises(compare.CannotCompare, match="machines differ"):
        compare.compare([base], new)
    assert verdict(compare.compare([base], new, across=True)).verdict == "same"


def test_noise_alone_seldom_alarms_and_five_percent_is_caught(make_run):
    rng = np.random.default_rng(7)

    def ratios(scale):
        return list(np.log(scale) + rng.standard_t(4, 25) * 0.03)

    def alarms(scale, times=200):
        shifts = [compare.shift(ratios(1.0), ratios(scale)) for _ in range(times)]
        return sum(compare._direction(s, 0.03) == "slower" for s in shifts) / times

    assert alarms(1.0) <= 0.03
    assert alarms(0.93) >= 0.9


def test_the_command_says_it_with_its_exit_status(make_run, command):
    base, same = make_run("a", 1), make_run("b", 2)
    slow = make_run("c", 3, fast=0.013)
    for runs, code, words in [
        ((base, same), 0, "0 regressions"),
        ((base, same, slow), 1, "slower"),
        ((base,), 2, "needs two runs"),
    ]:
        done = subprocess.run(command("compare", *runs), capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert words in done.stdout + done.stderr

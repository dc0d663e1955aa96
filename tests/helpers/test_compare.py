"""Comparing two runs: what is a change, what is noise, what cannot be compared."""

import dataclasses
import json
import subprocess

import numpy as np
import pytest

from helpers import compare, results, status, summary
from helpers.drift import Drift
from helpers.machine import describe
from helpers.outcome import Heat, Outcome, Race
from helpers.proof import Finding

ROUNDS = 12


def outcome(name, seconds, rng, noise=0.02, **fields):
    rounds = [[seconds * np.exp(rng.normal(0, noise))] for _ in range(ROUNDS)]
    fields.setdefault("drift", Drift(50.0, 1.0))
    fields.setdefault("findings", (Finding("compiled", True, "1 graph"),))
    fields.setdefault("launches", [len(rounds)])
    setup = {"build_seconds": 0.1, "first_call_seconds": 0.1}
    return Outcome(name, rounds=rounds, setup=setup, **fields)


@pytest.fixture
def make_run(tmp_path, monkeypatch):
    """Write a run folder with one race of eager and fast; returns its path."""

    def make(
        name,
        seed,
        fast=0.010,
        eager=0.02,
        weather=1.0,
        machine=None,
        state="passed",
        profile="quick",
        **fields,
    ):
        rng = np.random.default_rng(seed)
        machine = machine or describe()
        folder = tmp_path / name
        book = status.NotebookStatus("10_x", "x", "10_x.ipynb", {}, status=state)
        run = status.RunStatus(name, profile, {}, 60, "now", machine.as_dict())
        run.notebooks = [book]
        (folder / "10_x").mkdir(parents=True)
        status.save(folder, run)
        base = outcome("eager", eager * weather, rng)
        step = outcome("fast", fast * weather, rng, **fields)
        heat = Heat(0, outcome("anchor", 0.005 * weather, rng), (base, step))
        monkeypatch.setenv("SERIES_RESULTS", str(folder / "10_x"))
        results.save(Race("resnet50", 8, machine, (heat,)), "ladder")
        return folder

    return make


def judge(base, *new, **options):
    return compare.compare([base], list(new), **options)


def test_a_busier_day_is_not_a_regression(make_run):
    found = judge(make_run("a", 1), make_run("b", 2, weather=1.7))
    assert [v.verdict for v in found.verdicts] == ["same", "same"]
    assert found["fast"].new_ms > 1.5 * found["fast"].old_ms


def test_a_slow_down_of_twenty_percent_is_one(make_run):
    found = judge(make_run("a", 1), make_run("b", 2, fast=0.012))
    assert found["fast"].verdict == "slower"
    assert found.regressions == [found["fast"]]
    assert found["eager"].verdict == "same"


def test_a_speed_up_is_no_regression(make_run):
    found = judge(make_run("a", 1), make_run("b", 2, fast=0.008))
    assert found["fast"].verdict == "faster"
    assert not found.regressions


def test_a_change_below_the_floor_is_none(make_run):
    base, new = make_run("a", 1), make_run("b", 2, fast=0.012)
    assert judge(base, new, floor=0.3)["fast"].verdict == "same"


def test_one_run_cannot_show_six_percent_and_says_what_it_could(make_run):
    found = judge(make_run("a", 1), make_run("b", 2, fast=0.0106))
    assert found["fast"].verdict == "same"
    assert found["fast"].shift.smallest > 0.06
    assert f"would show {found['fast'].shift.smallest:.0%}" in found["fast"].reason


def test_several_runs_show_what_one_cannot(make_run):
    base = [make_run(f"a{i}", i) for i in range(6)]
    new = [make_run(f"b{i}", 9 + i, fast=0.0106) for i in range(4)]
    found = compare.compare(base, new)
    assert found["fast"].verdict == "slower"
    assert found["fast"].shift.smallest < 0.05


def test_a_baseline_that_got_faster_does_not_make_the_others_slower(make_run):
    base = [make_run(f"a{i}", i) for i in range(4)]
    new = [make_run(f"b{i}", 9 + i, eager=0.013) for i in range(4)]
    found = compare.compare(base, new)
    assert found["eager"].verdict == "faster"
    assert found["fast"].verdict == "same"
    assert "but that moved" in found["fast"].reason


def test_a_slower_baseline_is_seen_by_the_anchor(make_run):
    base = [make_run(f"a{i}", i) for i in range(4)]
    new = [make_run(f"b{i}", 9 + i, eager=0.026) for i in range(4)]
    found = compare.compare(base, new)
    assert found["eager"].verdict == "slower"
    assert found["fast"].verdict == "same"


def test_samples_that_are_too_short_are_not_judged(make_run):
    found = judge(make_run("c", 1, fast=1e-3), make_run("d", 2, fast=1.5e-3))
    assert found["fast"].verdict == "too short"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"findings": (Finding("compiled", False, "0 graphs"),)}, "proof lost"),
        ({"findings": ()}, "proof lost"),
        ({"drift": Drift(30.0, 1.0)}, "accuracy lost"),
        ({"drift": Drift(50.0, 0.5)}, "accuracy lost"),
        ({"drift": Drift(float("nan"), 1.0)}, "accuracy lost"),
        ({"drift": None}, "accuracy lost"),
        ({"failure": "out of memory"}, "fails now"),
    ],
)
def test_speed_is_not_all_that_can_be_lost(make_run, fields, expected):
    found = judge(make_run("a", 1), make_run("b", 2, **fields))
    assert found["fast"].verdict == expected
    assert found["fast"].regression


def test_what_never_worked_is_not_lost(make_run):
    broken = {"failure": "no such option"}
    found = judge(make_run("a", 1, **broken), make_run("b", 2, **broken))
    assert (found["fast"].verdict, found.regressions) == ("fails still", [])
    assert judge(make_run("c", 1, **broken), make_run("d", 2))["fast"].verdict == (
        "works now"
    )


def test_rounding_is_not_accuracy(make_run):
    base = make_run("a", 1, drift=Drift(float("inf"), 1.0))
    found = judge(base, make_run("b", 2, drift=Drift(110.0, 1.0)))
    assert found["fast"].verdict == "same"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("passed", "crashed", "fails now"),
        ("passed", "skipped", "not run now"),
        ("passed", "timed out", "fails now"),
        ("failed", "failed", "fails still"),
        ("failed", "passed", None),
        ("skipped", "skipped", None),
        ("skipped", "failed", "fails now"),
    ],
)
def test_a_notebook_has_a_verdict_of_its_own(make_run, before, after, expected):
    found = judge(make_run("a", 1, state=before), make_run("b", 2, state=after))
    whole = [v.verdict for v in found.verdicts if not v.step]
    assert whole == ([expected] if expected else [])


def test_a_notebook_that_is_left_out_is_a_regression(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    run = status.load(base)
    run.notebooks.append(dataclasses.replace(run.notebooks[0], name="11_y"))
    status.save(base, run)
    gone = [v for v in judge(base, new).regressions if v.notebook == "11_y"]
    assert [v.verdict for v in gone] == ["not run now"]
    back = [v for v in judge(new, base).verdicts if v.notebook == "11_y"]
    assert [v.verdict for v in back] == ["new"]


def test_runs_without_a_common_step_cannot_be_compared(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    (new / "10_x" / "ladder.race.json").rename(new / "10_x" / "other.race.json")
    with pytest.raises(compare.CannotCompare, match="no step in common"):
        judge(base, new)


def test_a_run_cannot_be_compared_with_itself(make_run):
    base = make_run("a", 1)
    with pytest.raises(compare.CannotCompare, match="both as base and as new"):
        judge(base, base)


def test_a_step_without_partner_is_listed(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    ladder = new / "10_x" / "ladder.race.json"
    ladder.write_text(ladder.read_text().replace("fast", "quick"))
    found = {v.step: v.verdict for v in judge(base, new).verdicts}
    assert found == {"eager": "same", "fast": "not run now", "quick": "new"}


def test_another_batch_size_is_another_metric(make_run):
    found = judge(make_run("a", 1), make_run("b", 2, images=8))
    assert found["fast"].verdict == "other work"
    assert "8 images a call" in found["fast"].reason


def test_other_json_in_a_run_is_not_a_race_and_half_a_race_is_an_error(make_run):
    base, new = make_run("a", 1), make_run("b", 2)
    (base / "10_x" / "environment.json").write_text('{"machine": {}}')
    assert judge(base, new)["fast"].verdict == "same"
    ladder = new / "10_x" / "ladder.race.json"
    ladder.write_text(ladder.read_text()[:500])
    with pytest.raises(status.RunError, match="not a complete result file"):
        judge(base, new)


def test_another_machine_is_refused_unless_asked_and_then_labelled(make_run):
    other = dataclasses.replace(describe(), name="AWS Graviton4")
    base, new = make_run("a", 1), make_run("b", 2, machine=other)
    with pytest.raises(compare.CannotCompare, match="machines differ"):
        judge(base, new)
    found = judge(base, new, across=True)
    assert found["fast"].verdict == "same"
    assert found.notes[0].startswith("DIFFERENT MACHINES: ")
    assert "AWS Graviton4" in summary.text(found).splitlines()[0]


def test_profiles_are_not_mixed(make_run):
    with pytest.raises(compare.CannotCompare, match="profiles differ"):
        judge(make_run("a", 1), make_run("b", 2, profile="smoke"), across=True)


def test_another_version_is_told(make_run):
    here = describe()
    newer = dataclasses.replace(here, versions={**here.versions, "torch": "9.9"})
    found = judge(make_run("a", 1), make_run("b", 2, machine=newer))
    assert any(n.startswith("torch differs: ") and "9.9" in n for n in found.notes)


def test_a_summary_shows_what_files_say_as_text(make_run):
    evil = "<script>|@everyone\n# x"
    found = judge(make_run("a", 1), make_run("b", 2, failure=evil))
    text = summary.markdown(found)
    assert text.startswith("### 1 regressions\n")
    assert "<script>" not in text
    assert "@everyone" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {row.count("|") for row in rows} == {7}


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        (("base", "same"), 0, "0 regressions"),
        (("base", "same", "slow"), 1, "slower"),
        (("base",), 2, "needs two runs"),
        (("base", "absent"), 2, "holds no run"),
    ],
)
def test_the_command_says_it_with_its_exit_status(
    make_run, command, tmp_path, names, code, words
):
    make_run("base", 1), make_run("same", 2), make_run("slow", 3, fast=0.013)
    files = "--json", tmp_path / "v.json", "--markdown", tmp_path / "v.md"
    arguments = [tmp_path / name for name in names]
    ran = subprocess.run(
        command("compare", *arguments, *files), capture_output=True, text=True
    )
    assert ran.returncode == code, ran.stderr
    assert words in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert (tmp_path / "v.json").exists() == (tmp_path / "v.md").exists() == (code < 2)
    if code < 2:
        saved = json.loads((tmp_path / "v.json").read_text())
        assert (
            saved["regressions"]
            == code
            == len([v for v in saved["verdicts"] if v["regression"]])
        )


def test_every_word_of_a_verdict_is_json(make_run, tmp_path):
    new = make_run("b", 2, drift=Drift(float("nan"), 1.0))
    text = json.dumps(judge(make_run("a", 1), new).as_dict(), allow_nan=False)
    assert json.loads(text)["verdicts"][1]["old_ms"] is None

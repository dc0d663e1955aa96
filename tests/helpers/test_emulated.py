"""No speed from emulation: its tables and plots have no times."""

import re
from dataclasses import replace

import pytest

from helpers import execute, machine, plots, results, window
from helpers.drift import Drift
from helpers.measure import Measurement
from helpers.outcome import TIMES, Heat, Outcome, Race
from helpers.published import NUMBERS
from helpers.sampling import EMULATED_SECONDS, counted

BY = "graviton4 by qemu-aarch64"
DIGITS = re.compile(r"\d")


def outcome(name, **fields):
    setup = {"build_seconds": 1.0, "first_call_seconds": 1.0}
    rounds = [[1.0]] * 6
    return Outcome(
        name,
        images=8,
        rounds=rounds,
        setup=setup,
        drift=Drift(100.0, 1.0),
        launches=[6],
        **fields,
    )


@pytest.fixture
def real():
    steps = outcome("eager"), outcome("other"), Outcome("broken", failure="a reason")
    heat = Heat(0, outcome("anchor"), steps)
    return Race("resnet50", 8, machine.describe(), (heat,))


@pytest.fixture
def imitated(real):
    return replace(real, machine=replace(real.machine, emulated=BY))


@pytest.fixture
def here_emulated(tmp_path, monkeypatch):
    """This machine, as if it were emulated."""
    marker = tmp_path / "emulated"
    marker.write_text(BY)
    monkeypatch.setattr(machine, "EMULATED", marker)
    machine.emulated.cache_clear()
    yield
    machine.emulated.cache_clear()


def test_the_table_of_an_emulated_race_has_no_times(real, imitated):
    assert set(TIMES) < set(real.table().columns)
    assert set(imitated.table().columns) == set(real.table().columns) - set(TIMES)
    assert imitated.table().loc["other", "drift"] == real.table().loc["other", "drift"]
    assert "EMULATED" in repr(imitated)


def test_a_race_in_which_all_failed_has_no_times_to_leave_out(imitated):
    failed = Heat(0, Outcome("anchor"), (Outcome("eager", failure="a reason"),))
    table = replace(imitated, heats=(failed,)).table()
    assert list(table.columns) == ["proof"]


def test_the_ladder_of_an_emulated_race_is_a_stamp_on_any_machine(
    real, imitated, tmp_path
):
    published = {"article": NUMBERS["resnet50_baseline"]}
    assert "8.0" in real.plot(published=published).alt
    again = results.load(results.save(imitated, "emulated", into=tmp_path))
    for chart in (imitated.plot(published=published), plots.ladder(race=again)):
        assert chart.alt == f"emulated: no times (ladder of {BY})"
        (written,) = (text.get_text() for text in chart.figure.axes[0].texts)
        assert written == chart.alt
        assert not chart.figure.axes[0].patches


def test_a_saved_race_stays_emulated(imitated, tmp_path):
    path = results.save(imitated, "emulated", into=tmp_path)
    assert results.load(path).machine.emulated == BY


CHARTS = {
    "pareto": lambda: plots.pareto([plots.Trade("a", 0.1, 10.0)]),
    "curve": lambda: plots.curve([1, 2], [1.0, 2.0], [1.0, 1.0], xlabel="batch"),
    "break_even": lambda: plots.break_even(
        [plots.Cost("a", 1.0, 1.0), plots.Cost("b", 9.0, 0.5)]
    ),
    "heat_map": lambda: plots.heat_map(
        {(1, 1): 7.0}, rows="a", columns="b", unit="images/s"
    ),
    "scaling": lambda: plots.scaling([1, 2], {"a": [1.0, 2.0]}, xlabel="rows"),
    "ranges": lambda: plots.ranges({"a": plots.Timed(measured=1.0)}),
    "roofline": lambda: plots.roofline(
        [plots.Point("a", 1.0, 1e9, "measured")],
        [
            plots.Ceiling("peak", 1e10, "measured", "compute"),
            plots.Ceiling("copy", 1e10, "measured", "bandwidth"),
        ],
    ),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_plot_of_times_carries_no_number_there(name, here_emulated):
    chart = CHARTS[name]()
    assert chart.alt.startswith(f"emulated: no times ({name} of ")
    assert not DIGITS.search(chart.alt.replace(BY, ""))


@pytest.mark.parametrize("name", CHARTS)
def test_a_plot_of_times_carries_its_numbers_elsewhere(name):
    chart = CHARTS[name]()
    assert "emulated" not in chart.alt
    assert DIGITS.search(chart.alt)


def test_a_measurement_says_no_time_there(here_emulated):
    measured = Measurement("product", samples=(1.0,) * 10)
    assert str(measured) == f"product: not timed ({BY})"


def test_what_a_cell_prints_there_is_stamped_once(here_emulated):
    outputs = [{"name": "stderr", "text": "a warning"}]
    for words in ("8 images/s ", "(measured)\n"):
        content = {"name": "stdout", "text": words}
        execute._stamp({"content": content}, outputs)
        outputs.append(content)
    printed = "".join(output["text"] for output in outputs[1:])
    assert printed == f"{execute.STAMP.format(by=BY)}8 images/s (measured)\n"


def test_what_a_cell_prints_elsewhere_is_not_stamped():
    content = {"name": "stdout", "text": "8 images/s"}
    execute._stamp({"content": content}, [])
    assert content["text"] == "8 images/s"


def test_what_is_wrong_with_a_plot_shows_under_emulation_too(here_emulated):
    with pytest.raises(ValueError, match="nothing to plot"):
        plots.pareto([])


def test_seconds_count_as_they_are_on_a_real_machine():
    assert counted(0.25) == 0.25


def test_set_up_counts_as_any_call_on_an_emulated_machine(here_emulated):
    assert counted(0.25) == EMULATED_SECONDS


def test_the_calls_of_a_window_count_one_after_the_other_there(here_emulated):
    calls = window.fill(lambda: None, opens=0.0, seconds=2 * EMULATED_SECONDS)
    assert calls == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    shared = window.Window(2 * EMULATED_SECONDS, (tuple(calls), tuple(calls)))
    assert shared.seconds_a_call == EMULATED_SECONDS / 2

"""Figures of races and curves: every number in the alt text, every kind labelled."""

import pytest
from made_run import outcome

from helpers import plots
from helpers.machine import describe
from helpers.outcome import Heat, Outcome, Race
from helpers.plots.style import KINDS, UNPROVEN
from helpers.proof import Finding
from helpers.published import NUMBERS


@pytest.fixture
def chart():
    doubtful = (Finding("compiled", False, "0 graphs"),)
    steps = (
        outcome("eager", 1.0),
        outcome("doubtful", 0.5, findings=doubtful),
        Outcome("broken", failure="<script>alert(1)</script>"),
    )
    race = Race("resnet50", 8, describe(), (Heat(0, outcome("anchor", 0.1), steps),))
    published = {"article, c8g.xlarge": NUMBERS["resnet50_baseline"]}
    return plots.ladder(race, published)


def test_the_alt_text_of_a_ladder_has_every_number_and_its_kind(chart):
    assert "measured on" in chart.alt
    assert "eager 8.0" in chart.alt
    assert "broken failed" in chart.alt
    assert "Published on another machine: article, c8g.xlarge 12" in chart.alt


def test_kinds_differ_in_colour_and_in_hatch():
    assert len({kind.colour for kind in KINDS.values()}) == 3
    assert len({kind.hatch for kind in KINDS.values()}) == 3


def test_an_unproven_bar_is_red_and_published_bars_are_hatched(chart):
    axes = chart.figure.axes[0]
    words = " ".join(text.get_text() for text in axes.texts)
    assert "UNPROVEN" in words
    assert "no result" in words
    assert UNPROVEN in {t.get_color() for t in axes.texts}
    assert KINDS["published"].hatch in {bar.get_hatch() for bar in axes.patches}


def test_a_chart_has_no_date_and_carries_its_alt_text(chart, tmp_path):
    data, metadata = chart._repr_mimebundle_()
    assert data["text/plain"] == chart.alt
    assert metadata["image/svg+xml"]["alt"] == chart.alt
    assert "dc:date" not in chart.svg()  # the same figure gives the same file
    chart.save(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_steps_of_different_batch_sizes_compare_by_the_image():
    eight = outcome("eight", 0.8)
    one = outcome("one", 0.1)
    one.images = 1
    race = Race("resnet50", 8, describe(), (Heat(0, eight, (eight, one)),))
    assert race.speed_up("one").value == pytest.approx(1)
    assert one.throughput == pytest.approx(eight.throughput)


def test_a_curve_points_at_its_knee():
    chart = plots.curve(
        [1, 2, 4], [10, 18, 19], [0.1, 0.11, 0.21], xlabel="batch", mark=(2, "knee")
    )
    assert "2: 18.0 images/s, 110 ms" in chart.alt
    assert "knee" in {t.get_text() for t in chart.figure.axes[0].texts}

"""The heat map shows every number, says it in words, and marks what is marked."""

import math

import pytest

from helpers import plots

VALUES = {(1, 1): 10.04, (1, 2): 17.5, (2, 1): 19.96, (2, 2): math.nan, (4, 1): 8.0}


@pytest.fixture
def chart():
    return plots.heat_map(
        VALUES,
        rows="processes",
        columns="threads a process",
        unit="images/s",
        words={(1, 1): "100 ms"},
        dashed=[(2, 2)],
        because="more threads than cores",
    )


def shown(chart) -> list[str]:
    return [t.get_text() for t in chart.figure.axes[0].texts if t.get_text()]


def test_every_square_shows_its_number(chart):
    assert sorted(shown(chart)) == sorted(["10", "17.5", "20", "failed", "8", "100 ms"])


def test_squares_without_a_value_are_empty(chart):
    patches = chart.figure.axes[0].patches
    assert len(patches) == 6  # 3 rows of 2 columns
    assert len({patch.get_facecolor() for patch in patches}) == 5  # two have no number


def test_the_highest_number_has_the_darkest_square(chart):
    brightness = [sum(p.get_facecolor()[:3]) for p in chart.figure.axes[0].patches]
    assert brightness.index(min(brightness)) == 2  # row 2, column 1


def test_the_alt_text_has_every_number_and_what_dashed_means(chart):
    assert "2 by 1: 20;" in chart.alt
    assert "2 by 2 (dashed): failed" in chart.alt
    assert "Dashed: more threads than cores." in chart.alt
    dashes = [p for p in chart.figure.axes[0].patches if p.get_linestyle() == "--"]
    assert len(dashes) == 1


def test_one_square_is_a_heat_map_too():
    only = plots.heat_map({(1, 1): 3.0}, rows="a", columns="b", unit="images/s")
    assert shown(only) == ["3"]

"""The power curve says in words what it shows."""

from helpers import plots


def test_its_text_names_the_fewest_runs():
    caught = {"5%": [0.2, 0.95, 1.0], "3%": [0.1, 0.3, 0.4]}
    chart = plots.power([1, 4, 8], caught, aim=0.9)
    assert "5%: 4" in chart.alt
    assert "3%: none of these" in chart.alt
    assert b"<svg" in chart.svg().encode()

"""The figures of notebooks 05 and 06, and the releases beside them."""

import numpy as np

from helpers import plots
from helpers.releases import RELEASES


def test_coverage_says_what_was_written_and_by_how_many():
    writers = np.array([0, 0, 1, 1, 1, 1, 8, 2], np.uint8)
    chart = plots.coverage({"draft": writers})
    assert (
        "draft: 75.0% of the output written, 25.0% by more than one core" in chart.alt
    )
    assert chart.svg().startswith("<?xml")


def test_coverage_draws_one_strip_a_version():
    strips = {"a": np.ones(10, np.uint8), "b": np.zeros(2000, np.uint8)}
    assert len(plots.coverage(strips).figure.axes) == 2


def test_ranges_label_each_kind_of_number():
    chart = plots.ranges(
        {
            "ours": plots.Timed(predicted=(1e-4, 3e-4), measured=2e-4),
            "theirs": plots.Timed(published=6.1e-5),
            "nobody's": plots.Timed(),
        }
    )
    assert "ours: predicted 0.1 to 0.3 ms, measured 0.2 ms" in chart.alt
    assert "theirs: published 0.061 ms; nobody's: not known" in chart.alt
    (legend,) = chart.figure.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert names == {"predicted", "measured", "published"}


def test_releases_are_in_order_and_name_their_source():
    dates = [release.date for release in RELEASES]
    assert dates == sorted(dates)
    assert all("aws-neuron-sdk" in release.source for release in RELEASES)

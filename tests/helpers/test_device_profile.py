"""Device times out of AWS's tools, without a device: good text and bad."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import device_profile

DATA = Path(__file__).parent.parent / "data"


@pytest.mark.parametrize(
    ("file", "seconds"),
    [("profile_summary.json", (0.000172,)), ("profile.json", (0.017, 0.018))],
)
def test_a_summary_is_a_measurement_in_seconds(file, seconds):
    found = device_profile.parse_summary((DATA / file).read_text(), name="giou")
    assert found.samples == seconds
    assert found.name == "giou"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ('{"summary": [{"total_time": 0.01', "was it cut"),
        ("[]", "the summary is empty"),
        ('{"summary": []}', "anything executed"),
        ("{}", "total_time is None"),
        ("[3]", "total_time is None"),
        ('{"total_time": "fast"}', "'fast'"),
        ('{"total_time": 0}', "positive number"),
        ('{"total_time": -1.0}', "positive number"),
        ('{"total_time": NaN}', "positive number"),
        ('{"total_time": 1e999}', "positive number"),
        ('{"core": {"event_count": 3}}', "total_time is None"),
        ('{"core": {"total_time": 0.01}, "other": 3}', "total_time is None"),
        ('{"total_time": true}', "True"),
    ],
)
def test_anything_else_is_one_clear_error(text, words):
    with pytest.raises(device_profile.BadProfile, match=words):
        device_profile.parse_summary(text)


def test_summaries_may_be_the_values_of_an_object_with_any_keys():
    """Written after scripts that read summary-json, not recorded on a device."""
    text = '{"core_0": {"total_time": 0.25}, "core_1": {"total_time": 0.5}}'
    assert device_profile.parse_summary(text).samples == (0.25, 0.5)


def test_nki_benchmark_reports_microseconds():
    latency = SimpleNamespace(get_latency_percentile=lambda p: 200.0 + p)
    seconds = device_profile.benchmark_seconds(SimpleNamespace(nc_latency=latency))
    assert seconds[50] == pytest.approx(250e-6)
    assert set(seconds) == set(device_profile.PERCENTILES)


def test_every_tool_captures_a_profile_and_summarises_that_execution():
    for tool in device_profile.TOOLS:
        capture, summary = (
            line.format(model="m", profile="p").split()
            for line in (tool.capture, tool.summary)
        )
        assert capture[0] == summary[0] == tool.name
        assert {"m.neff", "p.ntff"} <= set(capture)
        assert {"m.neff", "p_exec_2.ntff"} <= set(summary)

"""Shares of cores are disjoint; a pinned process stays on its own."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import cores


@given(st.lists(st.integers(0, 500), min_size=1, unique=True), st.data())
def test_shares_are_disjoint_and_use_every_core(held, data):
    processes = data.draw(st.integers(1, len(held)))
    shares = cores.shares(held, processes)
    assert [core for share in shares for core in share] == held
    sizes = {len(share) for share in shares}
    assert len(shares) == processes
    assert max(sizes) - min(sizes) <= 1


def test_more_processes_than_cores_are_refused():
    with pytest.raises(ValueError, match="3 processes need 3 cores, and there are 2"):
        cores.shares([4, 7], 3)


def test_written_shares_are_read_by_place():
    assert cores.written([(0, 1), (6,)]) == "0,1;6"
    held = os.sched_getaffinity(0)
    text = cores.written([(4095,), tuple(sorted(held))])
    assert cores.pin(text, 1) == tuple(sorted(held))
    assert cores.pin("") == ()
    assert os.sched_getaffinity(0) == held


def test_a_worker_imports_nothing_heavy_before_it_is_pinned():
    """numpy and torch count cores and start threads when they are imported."""
    code = (
        "import sys, helpers.worker; print(sorted({'numpy', 'torch'} & {*sys.modules}))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"

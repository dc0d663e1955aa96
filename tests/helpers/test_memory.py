"""Memory of a process from /proc, and of several without counting twice."""

import os

import numpy as np
import pytest

from helpers.memory import Memory, memory_of, together


def test_what_a_process_fills_is_private_and_in_its_peak():
    before = memory_of("me", os.getpid())
    held = np.ones(8 * 2**20)  # 64 MiB
    after = memory_of("me", os.getpid())
    assert after.private - before.private > 55
    assert after.peak >= after.private
    assert after.shared > 1  # libc at least is mapped by others
    assert held.all()


def test_a_process_that_is_gone_holds_nothing():
    assert memory_of("gone", 2**22 + 1) == Memory("gone", 0.0, 0.0, 0.0)


def test_shared_pages_count_once():
    two = [Memory("a", 150, 100, 40), Memory("b", 160, 110, 41)]
    assert together(two) == pytest.approx(100 + 110 + 41)
    assert together([]) == 0

"""A step of notebook 10 whose setting is disabled on purpose is reported unproven."""

import pytest

from helpers import cells, proof
from helpers.proof.process import KERNEL
from helpers.race import race
from helpers.step import Step

NOTEBOOK = "10_graviton_memory_and_precision"


@pytest.fixture(scope="module")
def raced():
    """Huge pages asked for in time, too late, and fast math without its variable."""
    late = cells.load(NOTEBOOK, "too_late").too_late
    eager = cells.load("07_graviton_baseline", "eager").eager
    huge = [proof.huge_pages(min_mib=8)]
    steps = [
        Step("in time", eager, env={"THP_MEM_ALLOC_ENABLE": "1"}, proofs=huge),
        Step("too late", late, proofs=huge),
        Step("switched off", eager, proofs=[proof.fast_math()]),
    ]
    return race(steps, model="resnet18_64px", batch_size=2, budget=0.2)


def test_a_setting_that_came_too_late_is_unproven(raced):
    if "[madvise]" not in (KERNEL.read_text() if KERNEL.exists() else ""):
        pytest.skip(f"{KERNEL} is not madvise: every process has huge pages, or none")
    assert raced["in time"].verdict == "proven", raced.evidence()
    assert raced["too late"].verdict == "UNPROVEN", raced.evidence()


def test_a_setting_that_is_switched_off_is_unproven_and_says_so_in_the_table(raced):
    assert raced["switched off"].verdict == "UNPROVEN", raced.evidence()
    assert raced.table().loc["switched off", "proof"] == "UNPROVEN"
    assert "0 with the attribute" in raced["switched off"].findings[0].saw

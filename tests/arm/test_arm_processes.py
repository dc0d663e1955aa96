"""What must be set before a process starts: environment, allocator, cores, teams."""

import math
import os
from dataclasses import replace

import pytest

from helpers import cells, machine, proof
from helpers.race import race
from helpers.remote import Remote
from helpers.step import Step
from helpers.team import Team

MODEL = "resnet18_64px"
HERE = [proof.pinned(), proof.pinned_threads()]


def eager(model, batch):
    return lambda: model(batch)


@pytest.fixture(scope="module")
def taught():
    tags = ["channels_last", "bf16_autocast", "bf16_open", "bf16_model", "settings"]
    return cells.load("10_graviton_memory_and_precision", *tags)


@pytest.fixture(scope="module")
def found(taught):
    """What the proofs see in one process with every setting."""
    step = Step(
        "all settings",
        taught.channels_last,
        env=taught.FAST_MATH | taught.CACHE,
        preload="tcmalloc",
        cores=(min(os.sched_getaffinity(0)),),
        proofs=[taught.math, taught.cache, taught.tcmalloc, taught.turned, *HERE],
    )
    remote = Remote(step, MODEL, 2, "random")
    try:
        remote.prepared(timeout=1200)
        remote.build(timeout=1200)
        findings = remote.prove()
    finally:
        remote.end()
    print(*findings, sep="\n")
    return {finding.proof: finding for finding in findings}


def test_fast_math_multiplies_with_bf16_weights_where_there_is_bf16(found, bf16):
    finding = found["fast math bf16"]
    assert finding.holds == bf16, finding.saw
    # printed in any case, so it proves nothing
    assert "20 with the attribute" in finding.saw
    assert f"{20 if bf16 else 0} of 20 fp32 primitives" in finding.saw


@pytest.mark.parametrize(
    "name", ["primitive cache", "tcmalloc loaded", "oneDNN nhwc", "pinned"]
)
def test_a_setting_of_the_process_is_in_effect(found, name):
    assert found[name].holds, found[name].saw


def all_pinned(finding) -> bool:
    """Whether no thread may leave, but for QEMU's own: see test_arm_emulator.py."""
    return finding.saw.startswith(f"{1 if machine.emulated() else 0} of ")


def test_no_thread_leaves_the_core(found):
    assert all_pinned(found["pinned threads"]), found["pinned threads"].saw


def test_this_process_is_pinned_to_nothing():
    witness = proof.Witness(lambda: None, cores=None)
    assert not any(p(witness).holds for p in HERE)


@pytest.fixture(scope="module")
def two():
    """Two cores; the name of notebook 12's step for them says how many processes."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("a team of two needs two cores")
    tags = ["served", "arranged", "steps"]
    (step,) = cells.load("12_graviton_multiprocess", *tags).steps
    return replace(step, processes=2, cores=tuple(cores[:2]), threads=1)


def test_torchrun_starts_two_processes_on_a_core_each(two):
    team = Team(two, MODEL, 2, "random")
    try:
        team.prepared(timeout=1800)
        team.build(timeout=1200)
        findings = team.prove()
        first, second = team.outputs()
    finally:
        team.end()
    print(*findings, sep="\n")
    assert {f.proof.split(", ")[1] for f in findings} == {
        "process 1 of 2",
        "process 2 of 2",
    }
    assert all(f.holds or all_pinned(f) for f in findings), findings
    assert (first == second).all()


def test_a_race_is_run_and_shows_no_time_of_an_emulated_machine():
    step = Step("eager", eager, proofs=[proof.onednn()])
    done = race([step], model=MODEL, batch_size=2, budget=0.1)
    outcome = done["eager"]
    assert not outcome.failure, outcome.failure
    assert outcome.proven, outcome.findings
    assert math.isinf(outcome.drift.sqnr_db) or outcome.drift.sqnr_db > 100
    assert ("images/s" in done.table()) == (not machine.emulated())

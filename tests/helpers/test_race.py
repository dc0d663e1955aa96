"""Races in real processes; one race serves most tests, because starting costs."""

import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest
import torch

from helpers import preload, proof, results
from helpers.outcome import Outcome
from helpers.proof import Finding
from helpers.race import race
from helpers.remote import environment
from helpers.step import Step

SMALL = {"model": "resnet18_64px", "batch_size": 2}


def eager(model, batch):
    return lambda: model(batch)


def channels_last(model, batch):
    model = model.to(memory_format=torch.channels_last)
    batch = batch.to(memory_format=torch.channels_last)
    return lambda: model(batch)


def twice(model, batch):
    def both():
        model(batch)
        return model(batch)

    return both


def raises(model, batch):
    raise ArithmeticError("seven")


def takes_all_memory(model, batch):
    return lambda: torch.empty(10**14)


def is_killed(model, batch):
    calls = iter(range(8))

    def fn():
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return model(batch)

    return fn


def holds_a_lock():
    lock = threading.Lock()
    return lambda model, batch: lock


def leaves_a_child(model, batch):
    os.system("sleep 77777 & mktemp -d -t left-by-step-XXXX")
    return lambda: model(batch)


def returns_nothing(model, batch):
    model(batch)


@pytest.fixture(scope="session")
def done():
    """One race of steps that work and steps that fail in each of the known ways."""
    return race(
        [
            Step("eager", eager),
            Step("twice", twice, proofs=[proof.onednn(layout="nhwc")]),
            Step(
                "channels last",
                channels_last,
                proofs=[proof.onednn(layout="nhwc", dtype="f32"), proof.pinned()],
                cores=(0,),
            ),
            Step("one image", eager, batch_size=1),
            Step("raises", raises),
            Step("takes all memory", takes_all_memory),
            Step("is killed", is_killed),
            Step("returns nothing", returns_nothing),
            Step("no interpreter", eager, python="/nonexistent/python"),
            Step("no core", eager, cores=(4095,)),
            Step("no allocator", eager, preload="nothing"),
            Step("cannot travel", holds_a_lock(), env={"A": "1"}),
            Step("leaves a child", leaves_a_child),
        ],
        **SMALL,
        budget=1,
        max_live=5,
    )


def test_steps_alternate_in_rounds_and_every_sample_is_kept(done):
    heat = done.heats[0]
    for outcome in [heat.anchor, *heat.outcomes[:3]]:
        assert len(outcome.rounds) >= 6
        assert len(outcome.rounds) == len(heat.anchor.rounds)
        assert len(outcome.warm_ups) >= len(outcome.rounds) + 3


def test_twice_the_work_is_about_half_as_fast(done):
    # the true value is 0.5; a busy machine may move it far
    assert done.speed_up("twice").value < 0.9


def test_throughput_counts_the_images_of_a_step_of_another_batch_size(done):
    one = done["one image"]
    assert one.images == 1
    assert one.throughput == pytest.approx(1 / one.latency)
    assert one.drift.sqnr_db > 90  # against its own image of the reference


def test_more_steps_than_may_live_race_in_heats_that_share_the_baseline(done):
    assert len(done.heats) == 4
    assert {heat.outcomes[0].name for heat in done.heats} == {"eager"}
    assert [o.name for o in done.outcomes][:2] == ["eager", "twice"]
    assert len(done.outcomes) == 13


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("raises", "ArithmeticError: seven"),
        ("takes all memory", "out of memory"),
        ("is killed", "SIGKILL"),
        ("returns nothing", "must return a function"),
        ("no interpreter", "not started: "),
        ("no core", "no core 4095"),
        ("no allocator", "not one of"),
        ("cannot travel", "not started: TypeError"),
    ],
)
def test_a_step_that_fails_says_why_and_the_others_finish(done, step, reason):
    assert reason in done[step].failure
    assert reason in done.table().loc[step, "proof"]
    assert done["eager"].rounds
    assert done["channels last"].rounds


def test_output_is_compared_with_the_fp32_reference(done):
    assert done["eager"].drift.sqnr_db == float("inf")
    assert done["channels last"].drift.sqnr_db > 90
    assert done["channels last"].drift.top1 == 1


def test_a_step_in_effect_is_proven(done):
    assert done["channels last"].verdict == "proven"
    assert "read acdb" in done.evidence().loc["channels last", "saw"].iloc[0]


def test_a_step_not_in_effect_is_unproven(done):
    assert done["twice"].verdict == "UNPROVEN"
    assert done["eager"].verdict == "nothing to prove"


def test_memory_and_set_up_are_recorded(done):
    assert done["eager"].peak_mib > 100
    assert set(done["eager"].setup) == {"build_seconds", "first_call_seconds"}


def test_no_process_outlives_its_race(done):
    import psutil

    assert done["leaves a child"].rounds
    lines = [
        " ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])
    ]
    assert not [line for line in lines if line == "sleep 77777"]
    children = psutil.Process().children(recursive=True)
    assert not [c for c in children if "helpers.worker" in " ".join(c.cmdline())]
    temporary = Path(tempfile.gettempdir())
    assert not [*temporary.glob("left-by-*"), *temporary.glob("step-*/left-by-*")]


def test_the_table_and_the_plot_show_every_step(done):
    assert list(done.table().index) == [o.name for o in done.outcomes]
    chart = done.plot()
    for outcome in done.outcomes:
        assert outcome.name in chart.alt
    assert "UNPROVEN" in chart.svg() or chart.svg().count("<path") > 10
    assert "measured on" in done._repr_html_()


def test_a_saved_race_is_the_same_when_loaded(done, tmp_path, monkeypatch):
    monkeypatch.setenv("SERIES_RESULTS", str(tmp_path))
    again = results.load(done.save("race"))
    assert again.heats == done.heats
    assert again == done


def test_each_launch_is_a_new_process_with_its_share_of_the_rounds(tmp_path):
    def leaves_its_number(model, batch):
        (tmp_path / str(os.getpid())).touch()
        return lambda: model(batch)

    def fails_the_second_time(model, batch):
        (tmp_path / "once").mkdir()
        return lambda: model(batch)

    steps = [Step("one", leaves_its_number), Step("other", fails_the_second_time)]
    twice = race(steps, **SMALL, budget=0.5, launches=2)
    assert len(list(tmp_path.iterdir())) == 3  # two processes, and the folder
    first, second = twice["one"].launches
    assert min(first, second) >= 3
    assert first + second == len(twice["one"].rounds)
    assert list(map(len, twice["one"].launches_per_image)) == [first, second]
    assert "FileExistsError" in twice["other"].failure
    assert twice.speed_up("other") is None


def test_a_proof_that_failed_in_one_launch_is_not_made_good_by_another():
    outcome = Outcome("a")
    for holds in (True, False, True):
        outcome.prove([Finding("pinned", holds, "cores")])
    assert not outcome.proven


def test_bad_requests_are_refused_before_anything_starts():
    step = Step("a", eager)
    for steps, arguments, words in [
        ([], SMALL, "at least one step"),
        ([step, step], SMALL, "must differ"),
        ([step], SMALL | {"model": "resnet51"}, "resnet51"),
        ([step], SMALL | {"batch_size": 0}, "at least 1"),
        ([step], SMALL | {"max_live": 2}, "at least 3"),
        ([step], SMALL | {"launches": 0}, "launches is 0"),
        ([Step(" ", eager)], SMALL, "no name for a step"),
        ([Step("b", eager, threads=0)], SMALL, "threads is 0"),
        ([Step("b", eager, batch_size=-1)], SMALL, "batch_size is -1"),
        ([Step("b", eager, cores=(0, 0))], SMALL, "different cores"),
    ]:
        with pytest.raises(ValueError, match=words):
            race(steps, **arguments)


def test_variables_that_change_the_result_are_not_inherited(monkeypatch):
    monkeypatch.setenv("DNNL_DEFAULT_FPMATH_MODE", "BF16")
    monkeypatch.setenv("LD_PRELOAD", "/lib/old.so")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    env = environment(Step("a", eager, cores=(0,), env={"LRU_CACHE_CAPACITY": "9"}))
    assert "DNNL_DEFAULT_FPMATH_MODE" not in env
    assert "LD_PRELOAD" not in env
    assert env["OMP_NUM_THREADS"] == "1"
    assert env["LRU_CACHE_CAPACITY"] == "9"


def test_an_allocator_and_huge_pages_are_there_from_the_start():
    try:
        preload.find("tcmalloc")
    except preload.MissingLibrary as missing:
        pytest.skip(str(missing))
    proofs = [proof.tcmalloc_loaded(), proof.huge_pages(min_mib=2)]
    done = race(
        [
            Step("plain", eager, proofs=proofs),
            Step(
                "tcmalloc",
                eager,
                preload="tcmalloc",
                env={"THP_MEM_ALLOC_ENABLE": "1"},
                proofs=proofs,
            ),
        ],
        **SMALL,
        budget=0.5,
    )
    assert done["tcmalloc"].findings[0].holds, done.evidence()
    assert not done["plain"].findings[0].holds
    assert done["plain"].verdict == "UNPROVEN"
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as setting:
        if "[madvise]" in setting.read():
            assert done["tcmalloc"].proven, done.evidence()


def _equal_pairs_of_20(first_seed):
    equal = 0
    for seed in range(first_seed, first_seed + 20):
        done = race(
            [Step("one", eager), Step("same", eager)], **SMALL, budget=2, seed=seed
        )
        ratio = done.speed_up("same")
        equal += not ratio.differs
        print(f"race {seed + 1}: {ratio}")
    print(f"{equal} of 20 equal pairs found equal")
    return equal


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_two_equal_steps_are_found_equal():
    """At least 18 of 20 small races of a step with itself give an interval with 1.

    An interval that holds exactly its 95 % gives fewer in 7.5 % of such tests, so one
    failed score of races is followed by a second.
    """
    assert _equal_pairs_of_20(0) >= 18 or _equal_pairs_of_20(20) >= 18

"""Steps of several processes: started by torchrun, pinned, counted together, ended."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from helpers import proof, results
from helpers.race import _groups, race
from helpers.remote import StepFailed, environment
from helpers.step import Step
from helpers.team import Team

SMALL = {"model": "resnet18_64px", "batch_size": 2}
CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="two processes need two cores")
PROOFS = (proof.pinned(), proof.pinned_threads())


def second() -> bool:
    return os.environ["LOCAL_RANK"] == "1"


def eager(model, batch):
    return lambda: model(batch)


def second_raises(model, batch):
    if second():
        raise ArithmeticError("seven")
    return lambda: model(batch)


def second_exits(model, batch):
    if second():
        print("no more", flush=True)
        os._exit(3)
    return lambda: model(batch)


def second_differs(model, batch):
    """Wrong in its output, and in a thread that was started before it was pinned."""
    if not second():
        return lambda: model(batch)
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    os.sched_setaffinity(0, own)
    return lambda: model(batch).flip(1)


def waits(model, batch):
    return lambda: time.sleep(0.3)


@pytest.fixture(scope="module")
def done():
    return race(
        [
            Step("one", eager, cores=CORES),
            Step("two", eager, processes=2, cores=CORES, proofs=PROOFS),
            Step("differs", second_differs, processes=2, cores=CORES, proofs=PROOFS),
            Step("raises", second_raises, processes=2, cores=CORES),
            Step("exits", second_exits, processes=2, cores=CORES),
            Step("too many", eager, processes=3, cores=CORES),
        ],
        **SMALL,
        budget=1,
        max_live=12,
    )


def test_each_round_is_one_window_of_both_processes(done):
    two = done["two"]
    assert len(two.windows) == len(two.rounds) == len(done["one"].rounds) >= 6
    for window, samples in zip(two.windows, two.rounds, strict=True):
        assert len(window.calls) == 2
        assert all(calls[-1][1] >= window.seconds for calls in window.calls)
        assert samples == [window.seconds / window.done]


def test_throughput_is_the_common_window_and_latency_the_processes_own(done):
    two = done["two"]
    rates = sorted(two.images * w.done / w.seconds for w in two.windows)
    assert rates[0] <= two.throughput <= rates[-1]
    low, high = two.throughput_interval
    assert rates[0] * 0.999 <= low <= two.throughput <= high <= rates[-1] * 1.001
    own = [x for w in two.windows for x in w.latencies]
    assert min(own) <= two.latency <= max(own)
    # two calls are under way at a time: one takes longer than a call-equivalent
    assert two.latency > 1.2 * sorted(two.samples)[len(two.samples) // 2]
    assert done.table().loc["two", "processes"] == 2
    assert done.speed_up("two").value > 0


def test_every_process_is_pinned_to_its_own_core(done):
    assert done["two"].proven
    saw = done.evidence().loc["two"].set_index("proof")["saw"]
    for place, core in enumerate(CORES, start=1):
        assert f"on cores [{core}]" in saw[f"pinned, process {place} of 2"]
        assert f"leave [{core}]" in saw[f"pinned threads, process {place} of 2"]


def test_one_process_with_a_free_thread_is_enough_to_be_unproven(done):
    held = {f.proof: f.holds for f in done["differs"].findings}
    assert done["differs"].verdict == "UNPROVEN"
    assert held == {
        "pinned, process 1 of 2": True,
        "pinned threads, process 1 of 2": True,
        "pinned, process 2 of 2": True,
        "pinned threads, process 2 of 2": False,
    }


def test_one_wrong_output_is_the_drift_of_the_step(done):
    assert done["two"].drift.sqnr_db > 90
    assert done["differs"].drift.sqnr_db < 20


def test_memory_is_that_of_every_process_and_of_torchrun(done):
    two = done["two"]
    names = [m.process for m in two.memory]
    assert names == ["process 1 of 2", "process 2 of 2", "torchrun"]
    assert min(m.peak for m in two.memory) > 50
    assert two.peak_mib == pytest.approx(sum(m.peak for m in two.memory))
    # the libraries' pages are in every peak and count once in what is held
    assert two.held_mib < two.peak_mib - min(m.shared for m in two.memory)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("raises", "process 2 of 2: ArithmeticError: seven"),
        ("exits", "process 2 of 2: ended with status 3; it last printed: no more"),
        ("too many", "3 processes need 3 cores, and there are 2"),
    ],
)
def test_a_process_that_fails_fails_its_step_and_the_others_finish(done, step, reason):
    assert reason in done[step].failure
    assert done["one"].rounds
    assert done["two"].rounds


def test_a_saved_race_keeps_every_window(done, tmp_path, monkeypatch):
    monkeypatch.setenv("SERIES_RESULTS", str(tmp_path))
    again = results.load(done.save("race"))
    assert again == done
    assert again["two"].windows == done["two"].windows
    assert again["two"].latency == done["two"].latency


def test_processes_count_towards_those_alive_at_once():
    sizes = [1, 2, 2, 1, 4, 6, 1]
    steps = [Step(str(n), eager, processes=size) for n, size in enumerate(sizes)]
    groups = [[step.processes for step in group] for group in _groups(steps, 4)]
    assert groups == [[1, 2], [2, 1], [4], [6], [1]]


def test_threads_are_divided_among_processes():
    def threads(**of):
        step = Step("a", eager, cores=(0, 1, 2, 3), **of)
        return environment(step)["OMP_NUM_THREADS"]

    assert threads() == "4"
    assert threads(processes=2) == "2"
    assert threads(processes=3) == "1"
    assert threads(processes=4, threads=2) == "2"


def test_no_processes_are_refused():
    with pytest.raises(ValueError, match="processes is 0"):
        race([Step("a", eager, processes=0)], **SMALL)


@pytest.fixture
def team():
    team = Team(Step("a", waits, processes=2, cores=CORES), **SMALL, weights="random")
    try:
        team.prepared(timeout=400)
        team.build(timeout=200)
        team.warm_up(timeout=200, limit=0.1)
        yield team
    finally:
        team.end()


def family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    def lives(process):
        try:
            return process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return [process for process in processes if process.is_running() and lives(process)]


def none_left(processes: list[psutil.Process], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while alive(processes) and time.monotonic() < end:
        time.sleep(0.1)
    return not alive(processes)


def test_idle_processes_are_stopped_torchrun_too(team):
    everyone = family(team.launcher)
    assert {p.pid for p in everyone} >= {team.launcher, *team.pids.values()}
    end = time.monotonic() + 20
    while time.monotonic() < end and any(p.status() != "stopped" for p in everyone):
        time.sleep(0.05)
    assert [p.status() for p in everyone] == ["stopped"] * 3


def killed_in_a_round(team, pid: int) -> str:
    """Why a round failed in which a process was killed, and that it left nothing."""
    everyone = family(team.launcher)
    threading.Timer(0.8, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(StepFailed) as failed:
        team.round(20, timeout=60)
    team.end()
    assert none_left(everyone)
    return str(failed.value)


def test_a_process_killed_in_a_round_fails_the_step_and_leaves_no_orphan(team):
    why = killed_in_a_round(team, team.pids[0])
    assert why.startswith("process 1 of 2: killed (SIGKILL)")


def test_torchrun_killed_in_a_round_fails_the_step_and_leaves_no_orphan(team):
    why = killed_in_a_round(team, team.launcher)
    assert why.startswith("torchrun was killed (SIGKILL)")


def test_a_race_that_is_killed_leaves_no_orphan(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        "import time\n"
        "from helpers.race import race\n"
        "from helpers.step import Step\n"
        "def slow(model, batch):\n"
        "    return lambda: time.sleep(0.2)\n"
        "steps = [Step('one', slow), Step('two', slow, processes=2)]\n"
        f"race(steps, model={SMALL['model']!r}, batch_size=1, budget=300)\n"
    )
    says = {k: v for k, v in os.environ.items() if k != "SERIES_RESULTS"}
    with subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True, env=says
    ) as started:
        assert any("rounds of 3 steps" in line for line in started.stderr)
        time.sleep(1)
        everyone = family(started.pid)
        words = [" ".join(p.cmdline()) for p in everyone]
        assert sum("helpers.worker" in w for w in words) == 5  # with torchrun's own
        started.kill()
    assert none_left(everyone)

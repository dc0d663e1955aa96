"""One fault, one test: through the real command, in real processes."""

import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from helpers import status


def wait_until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_cell_that_raises_fails_and_the_rest_goes_on(make_notebook, run_command):
    bad = make_notebook("01_bad", "x = 1", "1 / 0", "y = 2")
    good = make_notebook("02_good", "print('fine')")
    ran = run_command(bad, good)
    assert ran.code == 1
    assert ran["01_bad"].status == "failed"
    assert "cell 5: ZeroDivisionError: division by zero" in ran["01_bad"].reason
    assert "(cells that never ran: 1)" in ran["01_bad"].reason
    assert ran["02_good"].status == "passed"
    states = [
        cell.metadata.papermill.status
        for cell in ran.executed("01_bad").cells
        if cell.cell_type == "code"
    ]
    assert states == ["completed", "completed", "completed", "failed", "pending"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("bacth=9", "01_a.ipynb has no parameter bacth. It has: profile, batch."),
        ("batch=many", "Parameter batch of 01_a.ipynb is a whole number (default 8)"),
        ("batch=8.5", "'8.5' was given"),
        ("batch", "-p takes name=value"),
    ],
)
def test_a_wrong_parameter_stops_before_anything_starts(
    make_notebook, run_command, given, said
):
    ran = run_command(make_notebook("01_a", "x = batch"), "-p", given)
    assert ran.code == 2
    assert said in ran.text
    assert "Traceback" not in ran.text
    assert not ran.out.exists()


def test_an_unknown_profile_stops_before_anything_starts(make_notebook, run_command):
    ran = run_command(make_notebook("01_a", "x = 1"), "--profile", "fast")
    assert (ran.code, ran.out.exists()) == (2, False)
    assert "'fast' is none of smoke, quick, full" in ran.text


def test_a_notebook_without_parameters_cell_is_refused(make_notebook, run_command):
    ran = run_command(make_notebook("01_a", "x = 1", parameters=None))
    assert (ran.code, ran.out.exists()) == (2, False)
    assert "has 0 cells tagged 'parameters'" in ran.text


def test_a_notebook_with_two_parameters_cells_is_refused(make_notebook, run_command):
    import nbformat

    twin = nbformat.v4.new_code_cell("a = 1", metadata={"tags": ["parameters"]})
    ran = run_command(make_notebook("01_a", "x = 1", cells=[twin]))
    assert (ran.code, ran.out.exists()) == (2, False)
    assert "has 2 cells tagged 'parameters'" in ran.text


def test_a_file_that_is_no_notebook_is_refused(tmp_path, run_command):
    (tmp_path / "01_a.ipynb").write_text("{ not json")
    ran = run_command(tmp_path / "01_a.ipynb")
    assert (ran.code, ran.out.exists()) == (2, False)
    assert "cannot be read as a notebook" in ran.text


@pytest.mark.parametrize(
    ("death", "said"),
    [
        ("import os; os._exit(0)", "ended by itself with exit status 0 in cell 4"),
        (
            "import os; os.kill(os.getpid(), 9)",
            "ended by SIGKILL (running out of memory ends like this) in cell 4",
        ),
        ("import os; os.kill(os.getppid(), 9)", "the executing process was ended"),
    ],
)
def test_a_dead_kernel_is_a_crash(make_notebook, run_command, death, said):
    ran = run_command(
        make_notebook("01_dies", death, "x = 1"), make_notebook("02_good", "y = 1")
    )
    assert ran.code == 1
    assert ran["01_dies"].status == "crashed"
    assert said in ran["01_dies"].reason
    assert ran["02_good"].status == "passed"
    assert (
        "completed" not in ran.executed("01_dies").cells[-1].metadata.papermill.status
    )


@pytest.mark.parametrize("leave", ["import sys; sys.exit(0)", "raise SystemExit"])
def test_leaving_early_with_success_is_a_failure(make_notebook, run_command, leave):
    ran = run_command(make_notebook("01_exit", leave, "x = 1"))
    assert ran.code == 1
    assert ran["01_exit"].status == "failed"
    assert "SystemExit" in ran["01_exit"].reason
    assert "(cells that never ran: 1)" in ran["01_exit"].reason


def test_exit_zero_in_the_last_cell_is_a_failure_too(make_notebook, run_command):
    ran = run_command(make_notebook("01_exit", "import sys; sys.exit(0)"))
    assert (ran.code, ran["01_exit"].status) == (1, "failed")


def test_a_notebook_ends_at_its_deadline(make_notebook, run_command):
    slow = make_notebook("01_slow", "import time", "time.sleep(600)", "x = 1")
    ran = run_command(slow, make_notebook("02_good", "x = 1"), "--deadline", "12")
    assert ran.code == 1
    assert ran["01_slow"].status == "timed out"
    assert "still running in cell 5 at the deadline of 12 s" in ran["01_slow"].reason
    assert ran["01_slow"].seconds < 120
    assert ran["02_good"].status == "passed"


def test_the_outer_deadline_ends_what_the_inner_one_cannot(make_notebook, run_command):
    stop = "import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\n"
    stuck = make_notebook("01_stuck", stop + "time.sleep(600)")
    ran = run_command(stuck, "--deadline", "8")
    assert (ran.code, ran["01_stuck"].status) == (1, "timed out")
    assert "no end in cell 4 after the deadline of 8 s" in ran["01_stuck"].reason


def test_a_run_ends_at_its_deadline(make_notebook, run_command):
    slow = make_notebook("01_slow", "import time", "time.sleep(600)")
    ran = run_command(slow, make_notebook("02_b", "x = 1"), "--run-deadline", "10")
    assert ran.code == 1
    assert [n.status for n in ran.run.notebooks] == ["timed out", "not run"]
    assert "the run's deadline of 10 s had passed" in ran["02_b"].reason
    again = run_command("--resume", "latest", "--run-deadline", "10")
    assert (again.code, "--resume repeats a run as it was" in again.text) == (2, True)


@pytest.mark.parametrize("end", ["x = 1", "1 / 0"])
def test_the_environment_is_recorded_before_and_after(
    make_notebook, run_command, read_json, end, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    change = "import os, numpy\nos.environ['DNNL_VERBOSE'] = '0'"
    ran = run_command(make_notebook("01_a", change, end))
    text = (ran.folder / "01_a" / "environment.json").read_text()
    assert "hidden" not in text
    seen = read_json(ran.folder / "01_a" / "environment.json")
    before, after = seen["kernel"]["before"], seen["kernel"]["after"]
    assert before["variables"]["OMP_NUM_THREADS"] == "3"
    assert "DNNL_VERBOSE" not in before["variables"]
    assert after["variables"]["DNNL_VERBOSE"] == "0"
    assert "numpy" in after["versions"]
    assert seen["machine"]["versions"]["numpy"] == after["versions"]["numpy"]
    assert "limits the threads of every notebook" in ran.text


def test_no_process_of_a_notebook_survives_it(make_notebook, run_command, tmp_path):
    start = (
        "import subprocess, pathlib\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))"
    )
    ran = run_command(make_notebook("01_leaves", start))
    assert ran["01_leaves"].status == "passed"
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_no_temporary_file_of_a_notebook_survives_it(make_notebook, run_command):
    left = "import tempfile\nprint(tempfile.mkdtemp())"
    killed = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    names = ["01_ends", "02_dies"]
    codes = [[left], [left, killed]]
    books = [make_notebook(n, *c) for n, c in zip(names, codes, strict=True)]
    ran = run_command(*books)
    for name in names:
        texts = [o.text for c in ran.executed(name).cells for o in c.get("outputs", [])]
        folder = Path("".join(texts).splitlines()[0])
        assert folder.is_absolute()
        assert not folder.exists()


def test_a_flood_of_output_is_cut(make_notebook, run_command):
    flood = "for _ in range(100):\n    print('x' * 1_000_000)"
    ran = run_command(make_notebook("01_flood", flood, "'y' * 30_000_000", "print(7)"))
    assert ran.code == 0, ran.text
    path = ran.folder / "01_flood" / "01_flood.ipynb"
    assert path.stat().st_size < 1_000_000
    printed, shown, last = [cell.outputs for cell in ran.executed("01_flood").cells[3:]]
    assert "cut here: a cell keeps at most 100,000 characters" in printed[0].text
    assert len(printed[0].text) < 101_000
    assert "cut here: a cell keeps at most" in shown[0].data["text/plain"]
    assert last[0].text == "7\n"


@pytest.fixture
def interruptible(make_notebook, tmp_path, command):
    """Three notebooks of which the second waits until it is let go."""
    wait = (
        "import pathlib, time\n"
        f"pathlib.Path({str(tmp_path / 'waiting')!r}).touch()\n"
        f"while not pathlib.Path({str(tmp_path / 'go')!r}).exists():\n"
        "    time.sleep(0.05)"
    )
    books = [
        make_notebook("01_first", "x = 1"),
        make_notebook("02_waits", wait),
        make_notebook("03_last", "x = 1"),
    ]
    return command("run", *books, "--out", tmp_path / "runs")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)],
)
def test_an_interrupted_run_is_valid_and_can_be_resumed(
    interruptible, run_command, tmp_path, number, code
):
    runner = subprocess.Popen(interruptible, stdout=subprocess.DEVNULL)
    wait_until((tmp_path / "waiting").exists)
    family = psutil.Process(runner.pid).children(recursive=True)
    runner.send_signal(number)
    assert runner.wait(60) == code
    wait_until(lambda: not any(process.is_running() for process in family))
    folder = (tmp_path / "runs" / "latest").resolve()
    first = status.load(folder)
    assert first.state == "interrupted"
    assert [n.status for n in first.notebooks] == ["passed", "interrupted", "not run"]

    (tmp_path / "go").touch()
    ran = run_command("--resume", folder)
    assert ran.code == 0, ran.text
    assert [n.status for n in ran.run.notebooks] == ["passed"] * 3
    before, after = first.notebooks[0], ran["01_first"]
    # not run again; unless somebody edits our code while this test runs
    assert (before.started == after.started) == (before.key == after.key)
    assert (folder / "attempts" / "02_waits-1").is_dir()  # nothing is lost


def test_resume_repeats_what_has_changed(make_notebook, run_command):
    book = make_notebook("01_a", "x = 1")
    first = run_command(book)["01_a"]
    make_notebook("01_a", "x = 2")
    ran = run_command("--resume", "latest")
    assert ran["01_a"].key != first.key
    assert ran.executed("01_a").cells[-1].source == "x = 2"


def test_a_run_that_is_being_executed_cannot_be_resumed(
    interruptible, run_command, tmp_path
):
    runner = subprocess.Popen(interruptible, stdout=subprocess.DEVNULL)
    wait_until((tmp_path / "waiting").exists)
    ran = run_command("--resume", "latest")
    (tmp_path / "go").touch()
    assert runner.wait(60) == 0
    assert ran.code == 2
    assert "is being executed right now" in ran.text


def test_a_missing_module_skips_and_says_so(make_notebook, run_command):
    needy = make_notebook("01_needs", "x = 1", series={"needs": ["no_such_module"]})
    ran = run_command(needy)
    assert ran.code == 0
    assert ran["01_needs"].status == "skipped"
    assert "needs no_such_module, not installed here" in ran.text


def test_two_runs_of_the_same_second_do_not_mix(make_notebook, tmp_path, command):
    book = make_notebook("01_a", "x = 1")
    start = command("run", book, "--out", tmp_path / "runs")
    both = [subprocess.Popen(start, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [runner.wait(120) for runner in both] == [0, 0]
    folders = list((tmp_path / "runs").glob("20*"))
    assert len(folders) == 2
    assert all(status.load(folder).good for folder in folders)


def test_an_output_folder_that_cannot_be_made_is_one_sentence(
    make_notebook, run_command
):
    book = make_notebook("01_a", "x = 1")
    ran = run_command(book, out=Path("/proc/runs"))  # also root cannot write there
    assert ran.code == 2
    assert ran.text.startswith("error: ")
    assert "Traceback" not in ran.text


def test_an_output_folder_that_is_a_file_is_one_sentence(
    make_notebook, run_command, tmp_path
):
    (tmp_path / "file").touch()
    ran = run_command(make_notebook("01_a", "x = 1"), out=tmp_path / "file")
    assert ran.code == 2
    assert ran.text.startswith("error: ")
    assert "Traceback" not in ran.text

"""Full disks, read-only folders, memory that runs out, output that floods."""

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers import status


def mount(folder, *options):
    """Mount a small file system of memory; a skip says why it cannot be."""
    try:
        call = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder]
        done = subprocess.run(call, capture_output=True, text=True)
    except OSError as problem:
        pytest.skip(f"a small file system cannot be mounted here: {problem}")
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr}")


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a file system with these options; returns its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def make(*options):
        mount(folder, *options)
        return folder

    yield make
    subprocess.run(["umount", "-l", folder], capture_output=True)


def verdicts(ran):
    return [notebook.status for notebook in ran.run.notebooks]


def test_a_full_disk_ends_the_run_and_loses_nothing(
    make_notebook, run_command, small_disk
):
    out = small_disk("size=700k") / "runs"
    fill = "open('big', 'wb').write(bytes(5_000_000))"
    books = [
        make_notebook("01_first", "print('kept')"),
        make_notebook("02_fills", fill),
        make_notebook("03_last", "x = 1"),
    ]
    ran = run_command(*books, out=out)
    assert ran.code == 2
    assert "The run ended early, the runner could not write: No space left" in ran.text
    assert "Traceback" not in ran.text
    assert verdicts(ran) == ["passed", "crashed", "not run"]
    assert ran.run.state == "interrupted"
    assert ran.executed("01_first").cells[-1].outputs[0].text == "kept\n"

    next(out.glob("20*/02_fills/big")).unlink()
    make_notebook("02_fills", "x = 1")
    again = run_command("--resume", "latest", out=out)
    assert (again.code, verdicts(again)) == (0, ["passed"] * 3), again.text


def test_a_disk_that_is_full_from_the_start_is_one_sentence(
    make_notebook, run_command, small_disk
):
    out = small_disk("size=100k") / "runs"
    ran = run_command(make_notebook("01_a", "x = 1"), out=out)
    assert ran.code == 2
    assert "No space left" in ran.text
    assert "Traceback" not in ran.text


def test_a_cell_that_finds_the_disk_full_fails_alone(
    make_notebook, run_command, small_disk, tmp_path
):
    disk = small_disk("size=64k")
    fill = f"open({str(disk / 'big')!r}, 'wb').write(bytes(1_000_000))"
    books = [make_notebook("01_fills", fill), make_notebook("02_b", "x = 1")]
    ran = run_command(*books)
    assert (ran.code, verdicts(ran)) == (1, ["failed", "passed"])
    assert "No space left on device" in ran["01_fills"].reason


def test_a_read_only_folder_is_one_sentence(make_notebook, run_command, small_disk):
    ran = run_command(make_notebook("01_a", "x = 1"), out=small_disk("ro") / "runs")
    assert ran.code == 2
    assert "error: [Errno 30] Read-only file system" in ran.text
    assert "Traceback" not in ran.text


def test_a_run_that_became_read_only_can_be_read_but_not_resumed(
    make_notebook, run_command, small_disk
):
    disk = small_disk("size=8m")
    books = [make_notebook("01_first", "print(7)"), make_notebook("02_bad", "1 / 0")]
    assert run_command(*books, out=disk / "runs").code == 1
    mount(disk, "remount", "ro")
    ran = run_command("--resume", "latest", out=disk / "runs")
    assert ran.code == 2
    assert "Read-only file system" in ran.text
    assert "Traceback" not in ran.text
    assert verdicts(ran) == ["passed", "failed"]
    assert ran.executed("01_first").cells[-1].outputs[0].text == "7\n"


@contextmanager
def memory_limit(mebibytes):
    """A control group with a limit of memory; a skip says why there can be none."""
    first, second = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    base = first if first.is_dir() else second
    limit = "memory.limit_in_bytes" if first.is_dir() else "memory.max"
    group = base / f"series-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(mebibytes << 20))
    except OSError as problem:
        if group.is_dir():
            group.rmdir()
        pytest.skip(f"no control group with a limit of memory here: {problem}")
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def test_a_kernel_that_runs_out_of_memory_is_a_crash(make_notebook, command, tmp_path):
    eat = "eaten = []\nwhile True:\n    eaten.append(bytearray(10_000_000))"
    books = [make_notebook("01_eats", eat), make_notebook("02_good", "x = 1")]
    start = command("run", *books, "--out", tmp_path / "runs", "--deadline", "120")
    with memory_limit(700) as group:
        enter = f'echo $$ > {group} && exec "$@"'
        ran = subprocess.run(
            ["sh", "-c", enter, "sh", *start],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
    run = status.load(tmp_path / "runs" / "latest")
    assert (ran.returncode, [n.status for n in run.notebooks]) == (
        1,
        ["crashed", "passed"],
    ), ran.stdout
    assert "SIGKILL (running out of memory ends like this)" in run.notebooks[0].reason


def test_a_flood_of_output_does_not_fill_the_memory(make_notebook, run_command):
    flood = "for _ in range(100):\n    print('x' * 1_000_000)"
    tell = "import os; print(open(f'/proc/{os.getppid()}/status').read())"
    quiet = make_notebook("01_quiet", "print('x')", tell)
    ran = run_command(quiet, make_notebook("02_flood", flood, tell))
    assert ran.code == 0, ran.text
    texts = [
        ran.executed(n).cells[-1].outputs[0].text for n in ("01_quiet", "02_flood")
    ]
    peaks = [int(re.search(r"VmHWM:\s+(\d+)", text)[1]) for text in texts]
    assert peaks[1] - peaks[0] < 50 << 10, f"{peaks} KiB: it kept what it had cut"


def test_a_full_device_for_the_log_is_not_the_end(make_notebook, command, tmp_path):
    """What the runner prints has nowhere to go; the run is saved all the same."""
    if not Path("/dev/full").exists() or not shutil.which("sh"):
        pytest.skip("no /dev/full here")
    call = command("run", make_notebook("01_a", "x = 1"), "--out", tmp_path / "runs")
    with open("/dev/full", "w") as full:
        subprocess.run(call, stdout=full, stderr=subprocess.PIPE, timeout=120)
    run = status.load(tmp_path / "runs" / "latest")
    assert run.state in ("finished", "interrupted")

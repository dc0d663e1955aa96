"""The runner is killed again and again, at random moments, and resumed."""

import os
import random
import subprocess
import time

from helpers import status

KILLS = int(os.environ.get("SERIES_KILLS", "3"))
BOOKS = KILLS + 2  # so that the last kill finds something to kill


def started(log):
    """How often each notebook got to its last cell."""
    lines = log.read_text().split() if log.exists() else []
    return {name: lines.count(name) for name in lines}


def test_nothing_is_lost_and_nothing_that_passed_runs_twice(
    make_notebook, command, tmp_path
):
    log, runs, moments = tmp_path / "log", tmp_path / "runs", random.Random(9)
    books = [
        make_notebook(
            f"{i:02}_book",
            "import time; time.sleep(1)",
            f"with open({str(log)!r}, 'a') as file: print('{i:02}_book', file=file)",
        )
        for i in range(BOOKS)
    ]
    arguments: list = [*books]
    passed: dict[str, str] = {}  # name -> when the run that passed had started
    for _ in range(KILLS):
        runner = subprocess.Popen(command("run", *arguments, "--out", runs))
        while runner.poll() is None and not (runs / "latest").exists():
            time.sleep(0.02)
        time.sleep(moments.uniform(0.1, 6))
        assert runner.poll() is None, "it ended before it was killed"
        runner.kill()
        runner.wait()
        arguments = ["--resume", "latest"]
        run = status.load(runs / "latest")  # valid, whatever the moment was
        passed |= {n.name: n.started for n in run.notebooks if n.status == "passed"}
    keys = {n.name: n.key for n in status.load(runs / "latest").notebooks}
    subprocess.run(command("run", "--resume", "latest", "--out", runs), check=True)
    run = status.load(runs / "latest")
    assert run.good
    for notebook in run.notebooks:
        assert (runs / "latest" / notebook.name / f"{notebook.name}.ipynb").is_file()
        # unless somebody edits our code while this test runs
        if notebook.name in passed and notebook.key == keys[notebook.name]:
            assert notebook.started == passed[notebook.name], "run again"
            assert started(log)[notebook.name] >= 1

"""How often does `compare` cry wolf, and how often does it catch 5 %?

``python benchmarks/false_alarms.py race 20`` makes 20 more races of a cheap step with
itself and with 5 % more work, and keeps them: call it again to go on where it ended.
``python benchmarks/false_alarms.py judge`` splits what is there at random into base and
new runs, 100 times without and 50 times with the slow-down, and counts the alarms of
compare, of ``pyperf compare_to`` and of a comparison of two means, on the same samples.
``recorded`` judges the races in tests/data instead (their slow-down is simulated: 5 %
is added to every sample). Splits share races: they are not independent.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pyperf

from helpers import cells, compare, results
from helpers.drift import Drift
from helpers.machine import describe
from helpers.outcome import Heat, Outcome, Race
from helpers.race import race
from helpers.step import Step

FOLDER = Path("runs/false_alarms")
RECORDED = Path(__file__).parent.parent / "tests" / "data" / "equal_races.json"
BASE, NEW = 8, 6  # runs of a comparison; with 8 and 4, 44 of 50 were caught, not 45
EQUAL, SLOW = 100, 50  # comparisons
QUIET, PATIENCE = 40.0, 120  # per cent of the machine in use; seconds to wait for it

notebook = cells.load("17_regression_runs", "repeat_work", "keep")


def make_races(count: int) -> None:
    """Make `count` more races; one that is interrupted leaves nothing."""
    names = {"baseline": 20, "equal": 20, "slow": 21}
    steps = [
        Step(name, notebook.repeat_work(times), threads=1)
        for name, times in names.items()
    ]
    done = len(list(FOLDER.glob("*-slow/status.json")))
    for seed in range(done, done + count):
        used = wait_for_quiet()
        full = race(steps, model="resnet18_64px", batch_size=1, budget=3.0, seed=seed)
        if failed := [o.name for o in full.outcomes if o.failure]:
            raise SystemExit(f"{failed} failed: {full.outcomes}")
        for name in ("equal", "slow"):
            notebook.keep(FOLDER / f"{seed:03}-{name}", full, name)
        found = full.speed_up("equal"), full.speed_up("slow")
        print(seed, *found, f"machine in use before: {used:.0f} %", flush=True)


def wait_for_quiet() -> float:
    """Wait until the machine has little else to do, but not for ever."""
    used = 100.0
    for _ in range(PATIENCE // 2):
        used = psutil.cpu_percent(2)
        if used < QUIET:
            break
    return used


def keep_recorded(folder: Path) -> None:
    """The recorded races as runs; the slow ones are simulated."""
    for number, found in enumerate(json.loads(RECORDED.read_text())):
        for name, factor in (("equal", 1.0), ("slow", 1.05)):
            outcomes = {
                step: _outcome(step, found[key], scale)
                for step, key, scale in [
                    ("anchor", "anchor", 1.0),
                    ("baseline", "one", 1.0),
                    (name, "same", factor),
                ]
            }
            anchor = outcomes.pop("anchor")
            heat = Heat(0, anchor, tuple(outcomes.values()))
            full = Race("resnet18_64px", 2, describe(), (heat,))
            notebook.keep(folder / f"{number:03}-{name}", full, name)


def _outcome(name: str, milliseconds: list[float], factor: float) -> Outcome:
    return Outcome(
        name,
        images=2,
        rounds=[[factor * 1e-3 * m] for m in milliseconds],
        launches=[len(milliseconds)],
        setup={"build_seconds": 0.0, "first_call_seconds": 0.0},
        drift=Drift(120.0, 1.0),
    )


def by_compare(base: list[Path], new: list[Path]) -> bool:
    return compare.compare(base, new)["step"].verdict == "slower"


def samples(runs: list[Path]) -> list[list[float]]:
    found = [results.load(run / "17_cheap" / "cheap.race.json") for run in runs]
    return [one["step"].samples for one in found]


def by_means(base: list[Path], new: list[Path]) -> bool:
    """As in the articles: one mean a side, and nothing about noise but our floor."""
    old, now = (float(np.mean(np.concatenate(samples(r)))) for r in (base, new))
    return now / old > 1 + compare.FLOOR


def by_pyperf(base: list[Path], new: list[Path]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("base.json", "new.json")]
        for file, runs in zip(files, (base, new), strict=True):
            metadata = {"name": "step", "unit": "second"}
            made = [
                pyperf.Run(values, metadata=metadata, collect_metadata=False)
                for values in samples(runs)
            ]
            pyperf.BenchmarkSuite([pyperf.Benchmark(made)]).dump(file)
        said = subprocess.run(
            [sys.executable, "-m", "pyperf", "compare_to", *files],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return "slower" in said and "not significant" not in said.lower()


JUDGES = {
    "compare": by_compare,
    "pyperf compare_to": by_pyperf,
    "two means": by_means,
}


def judge(folder: Path) -> None:
    """Print how often each judge calls equal and slower runs a slow-down."""
    count = len(list(folder.glob("*-slow/status.json")))
    if count < BASE + NEW:
        raise SystemExit(f"{count} races are too few: {BASE + NEW} are needed")
    order = random.Random(0)
    print(f"{count} races; {BASE} base runs against {NEW} new ones")
    for name, times in (("equal", EQUAL), ("slow", SLOW)):
        alarms = dict.fromkeys(JUDGES, 0)
        for _ in range(times):
            picked = order.sample(range(count), BASE + NEW)
            base = [folder / f"{i:03}-equal" for i in picked[:BASE]]
            new = [folder / f"{i:03}-{name}" for i in picked[BASE:]]
            for who, calls in JUDGES.items():
                alarms[who] += calls(base, new)
        print(f"{name}: of {times}, called slower:", alarms, flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["race", count]:
            make_races(int(count))
        case ["judge"]:
            judge(FOLDER)
        case ["recorded"]:
            with tempfile.TemporaryDirectory() as place:
                keep_recorded(Path(place))
                judge(Path(place))
        case _:
            raise SystemExit(__doc__)

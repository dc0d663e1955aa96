"""Run notebook 10 twice: does each run's ratio lie inside the other run's interval?

``python benchmarks/repeatability.py`` executes the notebook twice with the runner, in
the quick profile (or ``--profile smoke|full``, ``--model vit``), and prints for each
step both ratios with their intervals, and n of m at the end. With ``--runs A B`` it
judges two run folders that are there already.

Intervals that hold the true value in exactly 95 % of runs agree in this sense in 83 %
of pairs: the other run has an error of its own. More is a sign of cautious intervals.
"""

import argparse
from pathlib import Path

from helpers import results, run, status
from helpers.outcome import Race
from helpers.ratio import Ratio

NOTEBOOK = "10_graviton_memory_and_precision"
RACES = ("memory_and_precision", "bf16")
OUT = Path("runs/repeatability")


def execute(profile: str, model: str) -> Path:
    """Run the notebook; its run folder, if it passed."""
    given = {"model": model}
    folder = run.start([NOTEBOOK], profile=profile, out=OUT, given=given)
    if not status.load(folder).good:
        raise SystemExit(f"the notebook failed: see {folder}")
    return folder


def races(folder: Path) -> list[Race]:
    return [results.load(folder / NOTEBOOK / f"{name}.race.json") for name in RACES]


def inside(one: Ratio, other: Ratio) -> bool:
    """Each ratio lies inside the other one's interval."""
    return other.low <= one.value <= other.high and one.low <= other.value <= one.high


def judge(first: Path, second: Path) -> tuple[int, int]:
    """Print a line a step; how many agree, of how many."""
    verdicts = []
    for a, b in zip(races(first), races(second), strict=True):
        for outcome in a.outcomes[1:]:
            one, other = a.speed_up(outcome.name), b.speed_up(outcome.name)
            agree = bool(one and other and inside(one, other))
            verdicts.append(agree)
            print(f"{outcome.name:26} {one!s:22} {other!s:22} {agree}")
    return sum(verdicts), len(verdicts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--runs", nargs=2, type=Path)
    asked = parser.parse_args()
    pair = asked.runs or [execute(asked.profile, asked.model) for _ in range(2)]
    print("{:26} {:22} {:22} {}".format("step", "first run", "second run", "agree"))
    agreeing, total = judge(*pair)
    print(f"{agreeing} of {total} steps: each ratio inside the other run's interval")

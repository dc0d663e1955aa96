"""Save and load what a race measured: a pyperf suite, readable by pyperf's own tools.

One file is one race. Each step of each heat is a benchmark; each round is a pyperf
run with its raw samples, so ``python -m pyperf stats FILE`` and ``hist`` work. What
pyperf has no place for (proofs, drift, set-up) is JSON in the benchmark's metadata.
"""

import json
import math
import os
import re
import tempfile
from dataclasses import asdict
from pathlib import Path

import pyperf

from helpers.drift import Drift
from helpers.machine import Machine
from helpers.memory import Memory
from helpers.outcome import Heat, Outcome, Race
from helpers.proof import Finding
from helpers.status import RunError
from helpers.window import Window

SCHEMA = 3
SUFFIX = ".race.json"  # other JSON in a run folder is not a race
ROOT = Path(__file__).parent.parent


class BadResult(RunError):
    """A result file cannot be read; the message says what is wrong with it."""


def folder() -> Path:
    """Where the running notebook saves: the run's folder, or runs/interactive."""
    path = Path(os.environ.get("SERIES_RESULTS") or ROOT / "runs" / "interactive")
    path.mkdir(parents=True, exist_ok=True)
    return path


def save(race: Race, name: str, *, into: Path | None = None) -> Path:
    """Write `race` as ``<folder>/<name>.race.json``, complete or not at all.

    The folder is the running notebook's unless `into` names another.
    """
    if not re.fullmatch(r"[\w-]{1,100}", name):
        raise ValueError(
            f"{name!r} is no name for a file: use letters, digits, _ and -"
        )
    entries = [
        (_note(race, heat, place, outcome), outcome)
        for heat in race.heats
        for place, outcome in enumerate([heat.anchor, *heat.outcomes])
    ]
    # a pyperf benchmark needs values: a step without samples travels in a note
    absent = [note for note, outcome in entries if not outcome.rounds]
    measured = [(note, outcome) for note, outcome in entries if outcome.rounds]
    if not measured:
        raise BadResult(f"{name}: no step was measured, so there is nothing to save")
    measured[0][0]["absent"] = absent
    path = (into or folder()) / f"{name}{SUFFIX}"
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        draft = Path(scratch) / path.name
        suite = pyperf.BenchmarkSuite([_benchmark(*entry) for entry in measured])
        suite.dump(str(draft))
        draft.replace(path)
    return path


def load(path: str | Path) -> Race:
    """The race in a file; raises BadResult with the reason if it is not one."""
    try:
        suite = pyperf.BenchmarkSuite.load(str(path))
        notes = [json.loads(b.get_metadata()["series"]) for b in suite]
    except (ValueError, KeyError, OSError, TypeError, AttributeError) as problem:
        raise BadResult(
            f"{path} is not a complete result file ({type(problem).__name__}: "
            f"{problem}); measure again or remove it"
        ) from problem
    if any(note["schema"] != SCHEMA for note in notes):
        raise BadResult(f"{path} has schema {notes[0]['schema']}, this is {SCHEMA}")
    return _race(suite, notes)


def _note(race: Race, heat: Heat, place: int, outcome: Outcome) -> dict:
    return {
        "schema": SCHEMA,
        "heat": heat.number,
        "place": place,  # 0 is the anchor, 1 the baseline
        "step": outcome.name,
        "images": outcome.images,
        "model": race.model,
        "batch_size": race.batch_size,
        "machine": race.machine.as_dict(),
        "setup": outcome.setup,
        "processes": outcome.processes,
        "windows": [asdict(window) for window in outcome.windows],
        "memory": [asdict(memory) for memory in outcome.memory],
        "findings": [asdict(finding) for finding in outcome.findings],
        "drift": _finite(outcome.drift),
        "failure": outcome.failure,
        "warm_ups": outcome.warm_ups,
        "launches": outcome.launches,
    }


def _benchmark(note: dict, outcome: Outcome) -> pyperf.Benchmark:
    heat = note["heat"]
    name = f"{outcome.name} (heat {heat})" if heat else outcome.name
    metadata = {"name": name, "unit": "second", "series": json.dumps(note)}
    return pyperf.Benchmark(
        [
            pyperf.Run(values, metadata=metadata, collect_metadata=False)
            for values in outcome.rounds
        ]
    )


def _race(suite: pyperf.BenchmarkSuite, notes: list[dict]) -> Race:
    rounds = [[list(run.values) for run in b.get_runs()] for b in suite]
    outcomes = [_outcome(*pair) for pair in zip(notes, rounds, strict=True)]
    absent = notes[0]["absent"]
    notes = notes + absent
    outcomes += [_outcome(note, []) for note in absent]
    heats: dict[int, dict[int, Outcome]] = {}
    for note, outcome in zip(notes, outcomes, strict=True):
        heats.setdefault(note["heat"], {})[note["place"]] = outcome
    fields = notes[0]["machine"]
    return Race(
        model=notes[0]["model"],
        batch_size=notes[0]["batch_size"],
        machine=Machine(**{**fields, "features": tuple(fields["features"])}),
        heats=tuple(
            Heat(number, anchor=found[0], outcomes=_in_order(found))
            for number, found in sorted(heats.items())
        ),
    )


def _in_order(found: dict[int, Outcome]) -> tuple[Outcome, ...]:
    return tuple(found[place] for place in sorted(found) if place > 0)


def _outcome(note: dict, rounds: list[list[float]]) -> Outcome:
    return Outcome(
        name=note["step"],
        images=note["images"],
        rounds=rounds,
        warm_ups=note["warm_ups"],
        setup=note["setup"],
        processes=note["processes"],
        windows=[_window(**window) for window in note["windows"]],
        memory=tuple(Memory(**memory) for memory in note["memory"]),
        findings=tuple(Finding(**finding) for finding in note["findings"]),
        drift=_drift(note["drift"]),
        failure=note["failure"],
        launches=note["launches"],
    )


def _window(seconds: float, calls: list) -> Window:
    return Window(seconds, tuple(tuple(map(tuple, made)) for made in calls))


def _finite(drift: Drift | None) -> dict | None:
    """JSON has no infinity: equal outputs are written as the words "inf"."""
    if drift is None:
        return None
    sqnr = drift.sqnr_db if math.isfinite(drift.sqnr_db) else str(drift.sqnr_db)
    return {"sqnr_db": sqnr, "top1": drift.top1}


def _drift(note: dict | None) -> Drift | None:
    return Drift(float(note["sqnr_db"]), note["top1"]) if note else None

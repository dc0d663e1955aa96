"""Save and load what a race measured: a pyperf suite, readable by pyperf's own tools.

One file is one race. Each step of each heat is a benchmark; each round is a pyperf
run with its raw samples, so ``python -m pyperf stats FILE`` and ``hist`` work. What
pyperf has no place for (proofs, drift, set-up) is JSON in the benchmark's metadata.
"""

import json
import math
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

import pyperf

from helpers.drift import Drift
from helpers.machine import Machine
from helpers.outcome import Heat, Outcome, Race
from helpers.proof import Finding

SCHEMA = 1
ROOT = Path(__file__).parent.parent


class BadResult(ValueError):
    """A result file cannot be read; the message says what is wrong with it."""


def folder() -> Path:
    """Where the running notebook saves: the run's folder, or runs/interactive."""
    path = Path(os.environ.get("SERIES_RESULTS") or ROOT / "runs" / "interactive")
    path.mkdir(parents=True, exist_ok=True)
    return path


def save(race: Race, name: str) -> Path:
    """Write `race` as ``<folder>/<name>.json``, complete or not at all."""
    benchmarks = [
        _benchmark(race, heat, outcome)
        for heat in race.heats
        for outcome in [heat.anchor, *heat.outcomes]
    ]
    path = folder() / f"{name}.json"
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        draft = Path(scratch) / path.name
        pyperf.BenchmarkSuite(benchmarks).dump(str(draft))
        draft.replace(path)
    return path


def load(path: str | Path) -> Race:
    """The race in a file; raises BadResult with the reason if it is not one."""
    try:
        suite = pyperf.BenchmarkSuite.load(str(path))
        notes = [json.loads(b.get_metadata()["series"]) for b in suite]
    except (ValueError, KeyError, OSError, TypeError) as problem:
        raise BadResult(
            f"{path} is not a complete result file ({type(problem).__name__}: "
            f"{problem}); measure again or remove it"
        ) from problem
    if any(note["schema"] != SCHEMA for note in notes):
        raise BadResult(f"{path} has schema {notes[0]['schema']}, this is {SCHEMA}")
    return _race(suite, notes)


def _benchmark(race: Race, heat: Heat, outcome: Outcome) -> pyperf.Benchmark:
    note = {
        "schema": SCHEMA,
        "heat": heat.number,
        "step": outcome.name,
        "anchor": outcome is heat.anchor,
        "model": race.model,
        "batch_size": race.batch_size,
        "machine": race.machine.as_dict(),
        "setup": outcome.setup,
        "peak_mib": outcome.peak_mib,
        "findings": [asdict(finding) for finding in outcome.findings],
        "drift": _finite(outcome.drift),
        "failure": outcome.failure,
        "warm_ups": outcome.warm_ups,
    }
    name = outcome.name if heat.number == 0 else f"{outcome.name} (heat {heat.number})"
    metadata = {"name": name, "unit": "second", "series": json.dumps(note)}
    # pyperf wants values; a step that failed has none, and says so in its note
    rounds = outcome.rounds or [[1.0]]
    return pyperf.Benchmark(
        [
            pyperf.Run(values, metadata=metadata, collect_metadata=False)
            for values in rounds
        ]
    )


def _race(suite: pyperf.BenchmarkSuite, notes: list[dict]) -> Race:
    heats: dict[int, dict] = {}
    for benchmark, note in zip(suite, notes, strict=True):
        heat = heats.setdefault(note["heat"], {"anchor": None, "outcomes": []})
        outcome = _outcome(benchmark, note)
        if note["anchor"]:
            heat["anchor"] = outcome
        else:
            heat["outcomes"].append(outcome)
    fields = notes[0]["machine"]
    return Race(
        model=notes[0]["model"],
        batch_size=notes[0]["batch_size"],
        machine=Machine(**{**fields, "features": tuple(fields["features"])}),
        heats=tuple(
            Heat(number=n, anchor=h["anchor"], outcomes=tuple(h["outcomes"]))
            for n, h in sorted(heats.items())
        ),
    )


def _outcome(benchmark: pyperf.Benchmark, note: dict) -> Outcome:
    failed = bool(note["failure"])
    return Outcome(
        name=note["step"],
        rounds=[] if failed else [list(run.values) for run in benchmark.get_runs()],
        warm_ups=note["warm_ups"],
        setup=note["setup"],
        peak_mib=note["peak_mib"],
        findings=tuple(Finding(**finding) for finding in note["findings"]),
        drift=_drift(note["drift"]),
        failure=note["failure"],
    )


def _finite(drift: Drift | None) -> dict | None:
    """JSON has no infinity: equal outputs are written as the words "inf"."""
    if drift is None:
        return None
    sqnr = drift.sqnr_db if math.isfinite(drift.sqnr_db) else str(drift.sqnr_db)
    return {"sqnr_db": sqnr, "top1": drift.top1}


def _drift(note: dict | None) -> Drift | None:
    return Drift(float(note["sqnr_db"]), note["top1"]) if note else None

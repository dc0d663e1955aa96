"""Judge runs against earlier ones: ``python -m helpers compare BASE [BASE ...] NEW``.

Two runs share no rounds, so a step's time is first divided, round by round, by its own
race's baseline; the baseline itself, which has none, by the race's anchor. Only these
ratios are judged. Absolute times are listed and not judged.
First used in notebook 17_regression_runs.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from helpers import results, shift, status
from helpers.outcome import Heat, Outcome, Race
from helpers.shift import PRIORS, Shift

FLOOR = 0.03  # a smaller change is not worth an alarm
SHORTEST = 2e-3  # seconds a sample; every false alarm of pybroker#291 was below
LOST_DECIBELS = 6  # of SQNR: twice the distance from the reference
ROUNDING_DB = 90  # above, both outputs are rounding, and how much depends on the kernel

Key = tuple[str, str, str]  # notebook, race, step
SAME, FASTER, SLOWER = "same", "faster", "slower"
PROOF, ACCURACY = "proof lost", "accuracy lost"
FAILS, GONE = "fails now", "not run now"
REGRESSIONS = (SLOWER, PROOF, ACCURACY, FAILS, GONE)


class CannotCompare(status.RunError):
    """The runs have nothing that may be compared; the message says why."""


@dataclass(frozen=True)
class Verdict:
    """One step's verdict, or with an empty race and step one notebook's.

    `shift` is the change of throughput where it was judged.
    """

    notebook: str
    race: str
    step: str
    verdict: str
    reason: str
    shift: Shift | None = None
    old_ms: float = math.nan
    new_ms: float = math.nan

    @property
    def regression(self) -> bool:
        return self.verdict in REGRESSIONS

    def as_dict(self) -> dict:
        """For JSON, which has neither NaN nor infinity: they become null."""
        return _finite(asdict(self) | {"regression": self.regression})


@dataclass(frozen=True)
class Comparison:
    """All verdicts of a comparison, and what to know when reading them."""

    base: tuple[str, ...]
    new: tuple[str, ...]
    floor: float
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.regression]

    def __getitem__(self, step: str) -> Verdict:
        """The first verdict on a step of this name."""
        for verdict in self.verdicts:
            if verdict.step == step:
                return verdict
        raise KeyError(f"no verdict on a step {step!r}")

    def as_dict(self) -> dict:
        return {
            "base": self.base,
            "new": self.new,
            "floor": self.floor,
            "notes": self.notes,
            "regressions": len(self.regressions),
            "verdicts": [v.as_dict() for v in self.verdicts],
        }


@dataclass(frozen=True)
class Entry:
    """A step as one run measured it, with the heat it ran in."""

    race: Race
    heat: Heat
    outcome: Outcome

    @property
    def control(self) -> str:
        """What its time is divided by: the baseline, or the anchor."""
        baseline = self.heat.outcomes[0]
        own = self.outcome is baseline or baseline.failure
        return "anchor" if own else "baseline"

    def centre(self, control: str) -> tuple[float, float]:
        by = self.heat.anchor if control == "anchor" else self.heat.outcomes[0]
        return shift.centre(self.outcome.rounds_per_image, by.rounds_per_image)

    @property
    def workload(self) -> str:
        """What must be equal for two entries to be the same metric."""
        outcome = self.outcome
        return (
            f"{self.race.model}, {outcome.images} images a call, "
            f"{outcome.processes} processes"
        )


def compare(
    base: Sequence[Path],
    new: Sequence[Path],
    *,
    floor: float = FLOOR,
    across: bool = False,
) -> Comparison:
    """Verdicts on every notebook and step of some runs against earlier ones.

    Parameters
    ----------
    base, new : sequences of paths of run folders
        Several runs on a side are pooled: how they differ is then what noise is.
    floor : float
        The smallest change of throughput that is called one, e.g. 0.03.
    across : bool
        Allow runs of different machines; the verdicts are then labelled.

    Raises
    ------
    CannotCompare
        If the machines or profiles differ, or the runs have no step in common.
    """
    if set(base) & set(new):
        raise CannotCompare("a run is given both as base and as new")
    notes = _comparable(base, new, across)
    old, now = ([_entries(run) for run in runs] for runs in (base, new))
    keys = list(dict.fromkeys(key for run in [*old, *now] for key in run))
    verdicts = [_judge(key, _of(key, old), _of(key, now), floor) for key in keys]
    if not any(_of(key, old) and _of(key, now) for key in keys):
        raise CannotCompare("the runs have no step in common, so nothing is compared")
    return Comparison(
        base=tuple(run.name for run in base),
        new=tuple(run.name for run in new),
        floor=floor,
        verdicts=(*verdicts, *_notebooks(base, new)),
        notes=tuple(notes),
    )


def _comparable(base: Sequence[Path], new: Sequence[Path], across: bool) -> list[str]:
    """What differs and is allowed to; raises for what is not."""
    found = [status.load(run) for run in [*base, *new]]
    if len({run.profile for run in found}) > 1:
        raise CannotCompare(
            f"profiles differ ({', '.join(run.profile for run in found)}): "
            "compare runs of one profile"
        )
    labels = [_label(run.machine) for run in found]
    old, now = set(labels[: len(base)]), set(labels[len(base) :])
    if len(old | now) == 1:
        return _versions(found)
    if not across:
        listed = "; ".join(sorted(old | now))
        raise CannotCompare(
            f"machines differ ({listed}): --across compares them anyway"
        )
    sides = " against ".join(" and ".join(sorted(side)) for side in (old, now))
    return [f"DIFFERENT MACHINES: {sides}", *_versions(found)]


def _label(machine: dict) -> str:
    """Machines of one label are taken for equal."""
    instance = machine.get("instance_type") or machine["chip"]
    stamp = ", EMULATED" if machine.get("emulated") else ""
    return f"{machine['name']} ({instance}), {machine['cores']} cores{stamp}"


def _versions(found: Sequence[status.RunStatus]) -> list[str]:
    """A change of a version is often what a comparison is for: told, not refused."""
    names = dict.fromkeys(n for run in found for n in run.machine["versions"])
    seen = {
        name: dict.fromkeys(run.machine["versions"].get(name, "none") for run in found)
        for name in names
    }
    seen["Python"] = dict.fromkeys(run.machine["python"] for run in found)
    seen["warned"] = dict.fromkeys("; ".join(run.warnings) or "none" for run in found)
    return [f"{n} differs: {', '.join(v)}" for n, v in seen.items() if len(v) > 1]


def _entries(run: Path) -> dict[Key, Entry]:
    """(notebook, race, step) -> entry, for every result file of a run."""
    entries: dict[Key, Entry] = {}
    for path in sorted(run.glob(f"*/*{results.SUFFIX}")):
        race = results.load(path)
        name = path.name.removesuffix(results.SUFFIX)
        for heat in race.heats:
            for outcome in heat.outcomes:
                key = (path.parent.name, name, outcome.name)
                entries.setdefault(key, Entry(race, heat, outcome))
    return entries


def _of(key: Key, runs: Sequence[dict[Key, Entry]]) -> list[Entry]:
    return [run[key] for run in runs if key in run]


def _judge(key: Key, old: list[Entry], new: list[Entry], floor: float) -> Verdict:
    """One step: does it exist, work, prove itself, compute the same, and how fast?"""
    if not new:
        return Verdict(*key, GONE, "the base has it, the new run does not")
    if not old:
        return Verdict(*key, "new", "the base does not have it")
    if len(workloads := dict.fromkeys(e.workload for e in old + new)) > 1:
        return Verdict(*key, "other work", f"not judged: {'; '.join(workloads)}")
    before, after = ([e.outcome for e in entries] for entries in (old, new))
    if verdict := _judge_failure(key, before, after):
        return verdict
    if lost := _lost_proofs(before, after):
        return Verdict(*key, PROOF, lost)
    if lost := _lost_accuracy(before, after):
        return Verdict(*key, ACCURACY, lost)
    old, new = ([e for e in es if not e.outcome.failure] for es in (old, new))
    return _judge_time(key, old, new, floor)


def _judge_failure(
    key: Key, before: list[Outcome], after: list[Outcome]
) -> Verdict | None:
    failures = [o.failure for o in after if o.failure]
    worked = any(not o.failure for o in before)
    if failures:
        return Verdict(*key, FAILS if worked else "fails still", failures[0])
    return None if worked else Verdict(*key, "works now", before[-1].failure)


def _lost_proofs(before: list[Outcome], after: list[Outcome]) -> str:
    """Proofs that held in a base run and do not in every new one, with what was seen.

    A proof that is not there any more is lost as well.
    """
    held = {f.proof for o in before for f in o.findings if f.holds}
    lost = []
    for proof in sorted(held):
        for outcome in after:
            found = [f for f in outcome.findings if f.proof == proof]
            if not found or not found[0].holds:
                saw = found[0].saw if found else "nothing: it was not taken"
                lost.append(f"{proof} saw {saw}")
                break
    return "; ".join(lost)


def _lost_accuracy(before: list[Outcome], after: list[Outcome]) -> str:
    was = [o.drift for o in before if o.drift]
    now = [o.drift for o in after if o.drift]
    if not was:
        return ""
    if len(now) < len(after):
        return f"was {was[-1]}, is not compared with the reference any more"
    lowest, worst = (min(ds, key=lambda d: (d.sqnr_db, d.top1)) for ds in (was, now))
    decibels = min(lowest.sqnr_db, ROUNDING_DB) - min(worst.sqnr_db, ROUNDING_DB)
    if decibels > LOST_DECIBELS or math.isnan(worst.sqnr_db):
        return f"was {lowest}, is {worst}"
    fell = min(d.top1 for d in was) - min(d.top1 for d in now)
    return f"was {lowest}, is {worst}" if fell > 0.1 else ""


def _judge_time(key: Key, old: list[Entry], new: list[Entry], floor: float) -> Verdict:
    times = [float(np.median([e.outcome.latency for e in es])) for es in (old, new)]
    old_ms, new_ms = (seconds * 1e3 for seconds in times)
    if min(times) < SHORTEST:
        reason = f"a sample is shorter than {SHORTEST * 1e3:.0f} ms: not judged"
        return Verdict(*key, "too short", reason, None, old_ms, new_ms)
    control = "anchor" if any(e.control == "anchor" for e in old + new) else "baseline"
    move = _shift(old, new, control, floor)
    verdict = {1: FASTER, 0: SAME, -1: SLOWER}[move.direction(floor)]
    reason = f"by the {control}"
    if verdict == SAME:
        reason += f", which would show {move.smallest:.0%}"
    elif control == "baseline" and (why := _contradiction(old, new, move, floor)):
        verdict, reason = SAME, why
    return Verdict(*key, verdict, reason, move, old_ms, new_ms)


def _shift(old: list[Entry], new: list[Entry], control: str, floor: float) -> Shift:
    before, after = ([e.centre(control) for e in es] for es in (old, new))
    return shift.shift(before, after, PRIORS[control], floor=floor)


def _contradiction(
    old: list[Entry], new: list[Entry], move: Shift, floor: float
) -> str:
    """Was it the baseline that moved? The anchor, though coarser, may say so."""
    before, after = (
        [Entry(e.race, e.heat, e.heat.outcomes[0]) for e in es] for es in (old, new)
    )
    whole = _shift(before, after, "anchor", floor)
    if whole.direction(floor) == -move.direction(floor) and whole.direction(floor):
        return f"{move} by the baseline, but that moved {whole} by the anchor"
    return ""


def _notebooks(base: Sequence[Path], new: Sequence[Path]) -> list[Verdict]:
    """Notebooks that passed before and do not now, or are new and fail."""
    before = {n.name: n for run in base for n in status.load(run).notebooks}
    verdicts = []
    for run in new:
        now = {n.name: n for n in status.load(run).notebooks}
        for name, was in before.items():
            lost = _lost_notebook(was, now.get(name))
            verdicts += [Verdict(name, "", "", *lost)] if lost else []
        for name in now.keys() - before.keys():
            said = f"{now[name].status} {now[name].reason}".strip()
            verdicts.append(Verdict(name, "", "", "new", said))
    return list(dict.fromkeys(verdicts))


def _lost_notebook(
    was: status.NotebookStatus, now: status.NotebookStatus | None
) -> tuple[str, str] | None:
    if now is None:
        return (GONE, "the new run leaves it out") if was.status == "passed" else None
    said = f"{now.status}: {now.reason}" if now.reason else now.status
    if now.status == status.PASSED or (was.status, now.status) == ("skipped",) * 2:
        return None
    if was.status not in status.GOOD:
        return ("fails still", said) if now.status not in status.GOOD else None
    return (GONE if now.status == status.SKIPPED else FAILS), said


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

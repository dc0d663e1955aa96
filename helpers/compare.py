"""Judge a run against one or more earlier ones: ``python -m helpers compare BASE NEW``.

Two runs share no rounds, so a step's time is first divided, round by round, by its own
race's anchor and by its baseline; only these ratios are judged, and a change must show
in both. Absolute times are listed and not judged.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from helpers import results, status
from helpers.outcome import Heat, Outcome, Race
from helpers.ratio import Ratio

FLOOR = 0.03  # a smaller change is not worth an alarm
SHORTEST = 2e-3  # seconds a sample; every false alarm of pybroker#291 was below
LOST_DECIBELS = 6  # of SQNR: twice the distance from the reference

Key = tuple[str, str, str]  # notebook, race, step
SAME, FASTER, SLOWER = "same", "faster", "slower"
REGRESSIONS = (SLOWER, "proof lost", "accuracy lost", "fails now", "not run now")


class CannotCompare(status.RunError):
    """The runs have nothing that may be compared; the message says why."""


@dataclass(frozen=True)
class Verdict:
    """One step's verdict; `change` is new over old throughput where it was judged."""

    notebook: str
    race: str
    step: str
    verdict: str
    reason: str
    change: Ratio | None = None
    old_ms: float = math.nan
    new_ms: float = math.nan

    @property
    def regression(self) -> bool:
        return self.verdict in REGRESSIONS

    def as_dict(self) -> dict:
        return asdict(self) | {"regression": self.regression}


@dataclass(frozen=True)
class Entry:
    """A step as one run measured it, with the heat it ran in."""

    race: Race
    heat: Heat
    outcome: Outcome

    def log_ratios(self, other: Outcome) -> list[float]:
        """Per round, the log of `other`'s seconds over this step's, an image."""
        mine, theirs = self.outcome.rounds_per_image, other.rounds_per_image
        return [
            math.log(np.median(b) / np.median(a))
            for a, b in zip(mine, theirs, strict=False)
        ]


def compare(
    base: Sequence[Path], new: Path, *, floor: float = FLOOR, across: bool = False
) -> list[Verdict]:
    """Verdicts of every notebook and step of the runs.

    Parameters
    ----------
    base : paths of run folders
        Several are pooled: their spread is then part of what is noise.
    new : path of a run folder
    floor : float
        The smallest change of throughput that is called one, e.g. 0.03.
    across : bool
        Allow runs of different machines.

    Raises
    ------
    CannotCompare
        If the machines or profiles differ, or the runs have no step in common.
    """
    _comparable([*base, new], across)
    old = [_entries(run) for run in base]
    now = _entries(new)
    names = list(dict.fromkeys([key for run in [*old, now] for key in run]))
    verdicts = [
        _judge(key, [run[key] for run in old if key in run], now.get(key), floor)
        for key in names
    ]
    verdicts += _statuses(base[-1], new)
    if not any(key in now for run in old for key in run):
        raise CannotCompare("the runs have no step in common, so nothing is compared")
    return verdicts


def _comparable(runs: Sequence[Path], across: bool) -> None:
    found = [status.load(run) for run in runs]
    if len({run.profile for run in found}) > 1:
        raise CannotCompare(
            f"profiles differ ({', '.join(run.profile for run in found)}): "
            "compare runs of one profile"
        )
    machines = {(r.machine["name"], r.machine["cores"]) for r in found}
    if len(machines) > 1 and not across:
        listed = "; ".join(f"{name}, {cores} cores" for name, cores in sorted(machines))
        raise CannotCompare(
            f"machines differ ({listed}): --across compares them anyway"
        )


def _entries(run: Path) -> dict[Key, Entry]:
    """(notebook, race, step) -> entry, for every result file of a run."""
    entries: dict[Key, Entry] = {}
    for path in sorted(run.glob(f"*/*{results.SUFFIX}")):
        race = results.load(path)
        for heat in race.heats:
            for outcome in heat.outcomes:
                key = (
                    path.parent.name,
                    path.name.removesuffix(results.SUFFIX),
                    outcome.name,
                )
                entries.setdefault(key, Entry(race, heat, outcome))
    return entries


def _judge(key: Key, old: list[Entry], new: Entry | None, floor: float) -> Verdict:
    if new is None:
        return Verdict(*key, "not run now", "the base run has it, the new one does not")
    if not old:
        return Verdict(*key, "new", "the base run does not have it")
    before, after = old[-1].outcome, new.outcome
    if after.failure or before.failure:
        verdict = SAME if before.failure else "fails now"
        return Verdict(*key, verdict, after.failure or "failed before, works now")
    if before.proven and after.proven is False:
        saw = "; ".join(f.saw for f in after.findings if not f.holds)
        return Verdict(*key, "proof lost", saw)
    if reason := _lost_accuracy(before, after):
        return Verdict(*key, "accuracy lost", reason)
    return _judge_time(key, old, new, floor)


def _lost_accuracy(before: Outcome, after: Outcome) -> str:
    if before.drift is None or after.drift is None:
        return ""
    # above 90 dB both are rounding, and how much of it depends on the kernel
    was, now = (min(o.drift.sqnr_db, 90) for o in (before, after) if o.drift)
    if was - now > LOST_DECIBELS or after.drift.top1 < before.drift.top1 - 0.1:
        return f"was {before.drift}, is {after.drift}"
    return ""


def _judge_time(key: Key, old: list[Entry], new: Entry, floor: float) -> Verdict:
    old_ms = float(np.median([e.outcome.latency for e in old])) * 1e3
    new_ms = new.outcome.latency * 1e3
    if new.outcome.latency < SHORTEST:
        reason = f"a sample is shorter than {SHORTEST * 1e3:.0f} ms: not judged"
        return Verdict(*key, "too short", reason, None, old_ms, new_ms)
    changes = _changes(old, new)
    verdicts = {_direction(change, floor) for change in changes.values()}
    words = "; ".join(f"by the {name}: {c}" for name, c in changes.items())
    verdict = verdicts.pop() if len(verdicts) == 1 else SAME
    return Verdict(*key, verdict, words, changes["anchor"], old_ms, new_ms)


def _changes(old: list[Entry], new: Entry) -> dict[str, Ratio]:
    """The change of throughput, measured by the anchor and by the baseline."""
    changes = {
        "anchor": shift(
            [x for e in old for x in e.log_ratios(e.heat.anchor)],
            new.log_ratios(new.heat.anchor),
        )
    }
    baseline = new.heat.outcomes[0]
    if new.outcome is not baseline and not baseline.failure:
        changes["baseline"] = shift(
            [x for e in old for x in e.log_ratios(e.heat.outcomes[0])],
            new.log_ratios(baseline),
        )
    return changes


def shift(old: Sequence[float], new: Sequence[float], level: float = 0.95) -> Ratio:
    """exp of how far `new` lies above `old`: Hodges-Lehmann, with its interval.

    The interval is the rank-sum one (normal approximation of the Mann-Whitney
    statistic). Source: Hollander, Wolfe and Chicken, Nonparametric Statistical
    Methods, ch. 4.
    """
    differences = np.sort(np.subtract.outer(new, old).ravel())
    n, m = len(old), len(new)
    if not n or not m:
        return Ratio(math.nan, 0.0, math.inf)
    z = stats.norm.ppf((1 + level) / 2)
    cut = int(n * m / 2 - z * math.sqrt(n * m * (n + m + 1) / 12))
    if cut < 1:
        return Ratio(math.exp(np.median(differences)), 0.0, math.inf)
    ends = differences[cut - 1], differences[-cut]
    return Ratio(*(math.exp(x) for x in (np.median(differences), *ends)))


def _direction(change: Ratio, floor: float) -> str:
    if not change.differs or abs(change.value - 1) <= floor:
        return SAME
    return FASTER if change.value > 1 else SLOWER


def _statuses(base: Path, new: Path) -> list[Verdict]:
    """Notebooks that passed before and do not now."""
    before = {n.name: n for n in status.load(base).notebooks}
    return [
        Verdict(n.name, "", "", "fails now", f"{n.status}: {n.reason}")
        for n in status.load(new).notebooks
        if n.status not in status.GOOD
        and n.name in before
        and before[n.name].status in status.GOOD
    ]

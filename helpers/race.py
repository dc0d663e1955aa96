"""Race steps against each other: alternating rounds in live, separate processes.

First used in notebook 09_graviton_batching.
"""

import math
import os
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from helpers import machine, models
from helpers.outcome import Heat, Outcome, Race
from helpers.remote import Remote, StepFailed
from helpers.step import Step
from helpers.team import Team

ROUNDS = (6, 25)  # at least, at most; below 6 no 95 % interval of a ratio exists
ROUND_SECONDS = 0.05  # a round of a fast step is at least this long
OUTVOTE = 3  # calls: one of them may be disturbed
BUILD_TIMEOUT = 900.0  # torch.compile of a large model on busy cores takes minutes


def race(
    steps: Sequence[Step],
    *,
    model: str,
    batch_size: int,
    budget: float = 8.0,
    launches: int = 1,
    weights: str = "random",
    max_live: int = 6,
    seed: int = 0,
) -> Race:
    """Race steps on one model and batch; the first step is the baseline.

    Parameters
    ----------
    steps : sequence of Step
    model : str
        A key of `helpers.models.MODELS`.
    batch_size : int
        Images a call.
    budget : float
        Seconds of rounds that each step may take, warm-up calls included.
    launches : int
        How often every process is started and built anew, each time for a share of the
        rounds. Processes that run the same code differ, so one launch of a step says
        little about the next (see `helpers.ratio`).
    weights : {"random", "default"}
        See `helpers.models.make`.
    max_live : int
        Processes alive at once; more steps are raced in groups that share the
        baseline and the anchor. (A step that alone has more is raced all the same.)
    seed : int
        Of the order of the steps within each round.

    Returns
    -------
    Race
        A step that fails is an outcome that says why; the others finish.
    """
    _check(steps, model, batch_size, max_live, launches)
    entry = _Entry(model, batch_size, weights, budget, launches, random.Random(seed))
    baseline, *others = steps
    room = max_live - 1 - baseline.processes  # the anchor is one
    groups = _groups(others, room) or [[]]
    heats = [entry.heat([baseline, *group], number=n) for n, group in enumerate(groups)]
    return Race(
        model=model,
        batch_size=batch_size,
        machine=machine.describe(),
        heats=tuple(heats),
    )


def _groups(steps: Sequence[Step], room: int) -> list[list[Step]]:
    """Steps in their order, as many together as have at most `room` processes."""
    groups: list[list[Step]] = []
    free = 0
    for step in steps:
        if not groups or step.processes > free:
            groups.append([])
            free = room
        groups[-1].append(step)
        free -= step.processes
    return groups


def gemm(model, batch):
    """The anchor's work: one fp32 matrix product of 768 x 768, on every machine."""
    import torch

    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(768, 768, generator=generator) for _ in range(2))
    return lambda: a @ b


ANCHOR = Step("anchor", gemm)


@dataclass
class _Entry:
    """What all heats of a race have in common."""

    model: str
    batch_size: int
    weights: str
    budget: float
    launches: int
    order: random.Random
    references: dict[int, np.ndarray] = field(default_factory=dict)  # by images

    def heat(self, steps: list[Step], *, number: int) -> Heat:
        """Launch all steps as often as asked; a step that failed is not tried again."""
        field_ = {step.name: self._outcome(step) for step in [ANCHOR, *steps]}
        for _ in range(self.launches):
            whole = [s for s in [ANCHOR, *steps] if not field_[s.name].failure]
            self._launch(whole, field_)
        anchor = field_.pop(ANCHOR.name)
        return Heat(number=number, anchor=anchor, outcomes=tuple(field_.values()))

    def _launch(self, steps: list[Step], field_: dict[str, Outcome]) -> None:
        """Build all steps, alternate their rounds, take their evidence, end them."""
        live: dict[str, Remote | Team] = {}
        try:
            for step in steps:
                self._start(step, field_[step.name], live)
            for name, remote in list(live.items()):
                with _recorded(field_[name], live):
                    remote.prepared(timeout=600)
            for name, remote in list(live.items()):
                with _recorded(field_[name], live):
                    self._build(remote, field_[name])
            self._rounds(field_, live)
            self._evidence(field_, live)
        finally:
            for remote in live.values():
                remote.end()

    def _outcome(self, step: Step) -> Outcome:
        images = step.batch_size or self.batch_size
        return Outcome(step.name, images=images, processes=step.processes)

    def _start(self, step: Step, outcome: Outcome, live: dict) -> None:
        absent = set(step.cores or ()) - os.sched_getaffinity(0)
        if absent:
            outcome.failure = f"not started: no core {min(absent)} for this process"
            return
        kind = Team if step.processes > 1 else Remote
        try:
            live[step.name] = kind(step, self.model, self.batch_size, self.weights)
        except Exception as problem:
            # no such allocator or interpreter, a build function that cannot travel ...
            outcome.failure = f"not started: {type(problem).__name__}: {problem}"

    def _build(self, remote: Remote | Team, outcome: Outcome) -> None:
        _say(f"  building {outcome.name}")
        setup = remote.build(timeout=BUILD_TIMEOUT)
        outcome.setup = outcome.setup or setup
        warm_ups = remote.warm_up(timeout=600, limit=self.budget / 2)
        outcome.warm_ups.extend(warm_ups)

    def _rounds(self, field_: dict[str, Outcome], live: dict) -> None:
        rounds, counts = self._plan({name: field_[name] for name in live})
        _say(f"  {rounds} rounds of {len(live)} steps")
        for name in live:
            field_[name].launches.append(0)
        for _ in range(rounds):
            for name in self.order.sample(sorted(live), len(live)):
                with _recorded(field_[name], live):
                    limit = 60 + 50 * counts[name] * field_[name].warm_ups[0]
                    got = live[name].round(counts[name], timeout=limit)
                    field_[name].warm_ups.extend(got["warm_ups"])
                    field_[name].rounds.append(got["samples"])
                    field_[name].launches[-1] += 1
                    field_[name].windows.extend(got.get("windows", []))

    def _plan(self, outcomes: dict[str, Outcome]) -> tuple[int, dict[str, int]]:
        """Rounds of one launch, and how many calls of each step are in a round.

        The slowest step decides the rounds.
        """
        least = (sum(_calls_of(o)) * o.warm_ups[-1] for o in outcomes.values())
        slowest = max(least, default=1.0)
        fewest, most = ROUNDS
        rounds = min(max(int(self.budget / slowest), fewest), most)
        share = self.budget / rounds
        counts = {name: _calls(o, share) for name, o in outcomes.items()}
        return math.ceil(rounds / self.launches), counts

    def _evidence(self, field_: dict[str, Outcome], live: dict) -> None:
        most = max(outcome.images for outcome in field_.values())
        if ANCHOR.name in live and most not in self.references:
            with _recorded(field_[ANCHOR.name], live):
                self.references[most] = live[ANCHOR.name].reference(most)
        reference = self.references.get(most)
        for name, remote in list(live.items()):
            if name == ANCHOR.name:
                continue
            with _recorded(field_[name], live):
                field_[name].memory = tuple(remote.memory())
                field_[name].prove(remote.prove())
                field_[name].compare(remote.outputs(), reference)


class _recorded:
    """A failure inside becomes the outcome's failure, and the step leaves the race."""

    def __init__(self, outcome: Outcome, live: dict[str, Remote | Team]):
        self.outcome, self.live = outcome, live

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, _):
        if kind is None or not issubclass(kind, (StepFailed, ValueError)):
            return False
        self.outcome.failure = str(problem)
        if remote := self.live.pop(self.outcome.name, None):
            remote.end()
        return True


def _calls_of(outcome: Outcome) -> tuple[int, int]:
    """Calls of a round that do not count, and the fewest that do.

    The first get warm, or are cut by the window of several processes; such a window has
    at least two calls of each, so that few of its calls are cut.
    """
    return (3, 2) if outcome.processes > 1 else (1, 1)


def _calls(outcome: Outcome, share: float) -> int:
    """How many calls that count are in a round, of which the median is taken.

    Enough to fill `ROUND_SECONDS`; and as many as `OUTVOTE`, where they fit into its
    `share` of the budget, so that one disturbed call does not decide a round.
    """
    (aside, fewest), call = _calls_of(outcome), outcome.warm_ups[-1]
    fill = min(int(ROUND_SECONDS / call), 100)
    fit = min(int(share / call) - aside, OUTVOTE)
    return max(fill, fit, fewest)


def _check(steps, model: str, batch_size: int, max_live: int, launches: int) -> None:
    names = [step.name for step in steps]
    if not steps:
        raise ValueError("a race needs at least one step, its baseline")
    if len(set(names)) < len(names) or ANCHOR.name in names:
        raise ValueError(f"step names must differ (and not be 'anchor'): {names}")
    for step in steps:
        _check_step(step)
    if model not in models.MODELS:
        raise ValueError(f"no model named {model!r}; there are {list(models.MODELS)}")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    if launches < 1:
        raise ValueError(f"launches is {launches}; it must be at least 1")
    if max_live < 3:
        raise ValueError("max_live must be at least 3: anchor, baseline and one step")


def _check_step(step: Step) -> None:
    name = step.name
    if not name.strip() or "\n" in name or re.search(r"\(heat \d+\)$", name):
        raise ValueError(f"{name!r} is no name for a step: it becomes a table's row")
    for field_ in ("threads", "batch_size", "processes"):
        value = getattr(step, field_)
        if value is not None and value < 1:
            raise ValueError(
                f"step {name!r}: {field_} is {value}; it must be 1 or more"
            )
    cores = step.cores
    if cores is not None and (not cores or len(set(cores)) < len(cores)):
        raise ValueError(f"step {name!r}: cores {cores} must be different cores")


def _say(text: str) -> None:
    # a reader in JupyterLab waits for this cell; a headless run has its own progress
    if "SERIES_RESULTS" not in os.environ:
        print(text, file=sys.stderr, flush=True)

"""What a race found: raw samples and evidence; statistics are computed when read."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice

import numpy as np
import pandas as pd

from helpers.drift import Drift, drift
from helpers.machine import Machine
from helpers.measure import median_interval
from helpers.memory import Memory, together
from helpers.models import MODELS
from helpers.proof import Finding
from helpers.ratio import Ratio, paired_ratio
from helpers.window import Window

# what a table leaves out where no time means anything
TIMES = ["images/s", "latency ms", "95 % interval ms", "speed-up"]
TIMES += ["build s", "first call s"]


@dataclass
class Outcome:
    """One step in one heat.

    `images` is how many one call handles; `rounds` holds seconds a call, by round;
    `launches` how many of the rounds each launch of its process took, in their order;
    `setup` the seconds of building and of the first call, in the first launch;
    `failure` the reason why the step has no result, else "".

    Of a step with several processes a round has one sample, the seconds of its window
    over the calls that all of them did in it, and `windows` has every single call.
    """

    name: str
    images: int = 1
    rounds: list[list[float]] = field(default_factory=list)
    warm_ups: list[float] = field(default_factory=list)
    setup: dict[str, float] = field(default_factory=dict)
    memory: tuple[Memory, ...] = ()
    findings: tuple[Finding, ...] = ()
    drift: Drift | None = None
    failure: str = ""
    processes: int = 1
    windows: list[Window] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)

    def compare(self, outputs: list[np.ndarray], reference: np.ndarray | None) -> None:
        """The drift of the output of each process; the worst is the step's."""
        if reference is not None:
            found = [drift(output, reference[: self.images]) for output in outputs]
            found += [self.drift] if self.drift else []
            self.drift = min(found, key=lambda d: (d.sqnr_db, d.top1))

    def prove(self, findings: Sequence[Finding]) -> None:
        """What the proofs saw in another launch: one that failed stays failed."""
        before = self.findings or findings
        pairs = zip(before, findings, strict=True)
        self.findings = tuple(old if not old.holds else new for old, new in pairs)

    @property
    def samples(self) -> list[float]:
        return list(chain.from_iterable(self.rounds))

    @property
    def call_seconds(self) -> list[float]:
        """Seconds of every call, as the process that made it saw it."""
        if not self.windows:
            return self.samples
        return list(chain.from_iterable(window.latencies for window in self.windows))

    @property
    def latency(self) -> float:
        """Seconds a batch takes in its process: the median of all calls."""
        return float(np.median(self.call_seconds))

    @property
    def throughput(self) -> float:
        """Images a second of all processes, from the median; NaN if the step failed."""
        if self.failure:
            return float("nan")
        return self.images / float(np.median(self.samples))

    @property
    def peak_mib(self) -> float:
        """The peaks (VmHWM) of all processes added up, in MiB.

        What they share (the libraries' pages) counts once for each, and peaks at
        different moments count as if they coincided: several processes hold less.
        """
        return sum(m.peak for m in self.memory)

    @property
    def held_mib(self) -> float:
        """MiB held by all processes after the rounds, what they share counted once."""
        return together(self.memory)

    @property
    def rounds_per_image(self) -> list[list[float]]:
        """`rounds` in seconds an image: what steps of any batch size compare by."""
        return [[s / self.images for s in samples] for samples in self.rounds]

    @property
    def launches_per_image(self) -> list[list[list[float]]]:
        """`rounds_per_image` of each launch."""
        rounds = iter(self.rounds_per_image)
        return [list(islice(rounds, count)) for count in self.launches]

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the latency in seconds."""
        return median_interval(self.call_seconds)

    @cached_property
    def throughput_interval(self) -> tuple[float, float]:
        """95 % interval of the throughput in images a second."""
        low, high = median_interval(self.samples)
        return self.images / high, self.images / low

    @property
    def proven(self) -> bool | None:
        """Whether every proof holds; None for a step that has none."""
        return all(f.holds for f in self.findings) if self.findings else None

    @property
    def verdict(self) -> str:
        if self.failure:
            return f"failed: {self.failure}"
        return {None: "nothing to prove", True: "proven", False: "UNPROVEN"}[
            self.proven
        ]


@dataclass(frozen=True)
class Heat:
    """Steps that alternated with each other: the baseline, some others, the anchor."""

    number: int
    anchor: Outcome
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, repr=False)
class Race:
    """All outcomes of a race; the first step is the baseline in every heat."""

    model: str
    batch_size: int
    machine: Machine
    heats: tuple[Heat, ...]

    @property
    def baseline(self) -> Outcome:
        return self.heats[0].outcomes[0]

    @property
    def outcomes(self) -> list[Outcome]:
        """Every step once: the baseline (of the first heat), then the others."""
        others = (heat.outcomes[1:] for heat in self.heats)
        return [self.baseline, *chain.from_iterable(others)]

    def __getitem__(self, step: str) -> Outcome:
        for outcome in self.outcomes:
            if outcome.name == step:
                return outcome
        raise KeyError(f"no step {step!r}; there are {[o.name for o in self.outcomes]}")

    def speed_up(self, step: str, over: str | None = None) -> Ratio | None:
        """How many times the images/s of the baseline (or of a step of its heat)."""
        for heat in self.heats:
            found = {o.name: o for o in heat.outcomes if not o.failure}
            against = found.get(over or self.baseline.name)
            if step in found and against:
                return paired_ratio(
                    found[step].launches_per_image, against.launches_per_image
                )
        return None

    def table(self) -> pd.DataFrame:
        """One row a step, every number measured on `machine`."""
        frame = pd.DataFrame([self._row(o) for o in self.outcomes]).set_index("step")
        if self.machine.emulated:
            frame = frame.drop(columns=TIMES, errors="ignore")
        if all(o.processes == 1 for o in self.outcomes):
            return frame.drop(columns="processes")
        return frame

    def _row(self, outcome: Outcome) -> dict:
        """What decides comes first: a page shows the first columns."""
        row: dict = {"step": outcome.name, "processes": outcome.processes}
        if outcome.failure:
            return row | {"proof": outcome.verdict}
        low, high = outcome.interval
        return row | {
            "batch": outcome.images,
            "images/s": round(outcome.throughput, 2),
            "speed-up": str(self._over_baseline(outcome)),
            "proof": outcome.verdict,
            "drift": str(outcome.drift or "not compared"),
            "latency ms": round(outcome.latency * 1e3, 1),
            "95 % interval ms": f"{low * 1e3:.1f} to {high * 1e3:.1f}",
            "peak MiB": round(outcome.peak_mib),
            "build s": round(outcome.setup["build_seconds"], 2),
            "first call s": round(outcome.setup["first_call_seconds"], 2),
        }

    def _over_baseline(self, outcome: Outcome) -> Ratio | str:
        if outcome is self.baseline:
            return "baseline"
        return self.speed_up(outcome.name) or "no baseline"

    def evidence(self) -> pd.DataFrame:
        """One row a proof: what each saw in the step's process."""
        rows = [
            {"step": o.name, "proof": f.proof, "holds": f.holds, "saw": f.saw}
            for o in self.outcomes
            for f in o.findings
        ]
        columns = ["step", "proof", "holds", "saw"]
        return pd.DataFrame(rows, columns=columns).set_index("step")

    def save(self, name: str):
        """Write the race to the running notebook's result folder; returns the path."""
        from helpers import results

        return results.save(self, name)

    def plot(self, **published):
        """The ladder of this race; see `helpers.plots.ladder`."""
        from helpers.plots import ladder

        return ladder(self, **published)

    @property
    def head(self) -> str:
        title = MODELS[self.model].title
        return f"{title}, batch {self.batch_size}, measured on {self.machine.label()}"

    def __repr__(self) -> str:
        return f"{self.head}\n{self.table().fillna('').to_string()}"

    def _repr_html_(self) -> str:
        table = self.table().fillna("").to_html(border=0)
        return f"<p><b>{html.escape(self.head)}</b></p>{table}"

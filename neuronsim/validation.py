"""Device times that AWS published for a kernel that we can rebuild, to check the model.

The kernel is a selective scan (the core of Mamba) in three versions. We write each
version ourselves (notebook 04), record it, and compare the prediction with AWS's time.

A prediction of a long kernel is computed from short ones: every iteration of the
outermost loop does the same work on other data, so its time is a straight line through
one and two iterations. `tests/notebooks/test_04_nki_giou_optimised.py` checks that a
third point lies on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from neuronsim import rules
from neuronsim.hardware import NEURONCORE_V2
from neuronsim.timeline import Prediction, predict
from neuronsim.trace import record

TUTORIAL = (
    "AWS, Fused Mamba tutorial (Neuron SDK 2.26.1), profiles of one NeuronCore-v2: "
    "github.com/aws-neuron/aws-neuron-sdk, general/nki/tutorials/fused_mamba.rst"
)
STATES = 16  # "state_size = 16", batch 1, float32


@dataclass(frozen=True)
class Case:
    """One published run.

    Attributes
    ----------
    version : 1 (states outside), 2 (channels outside) or 3 (sequence in chunks)
    channels, length : problem size
    published : seconds on the device
    busy : published busy share of the Vector engine, if printed
    """

    version: int
    channels: int
    length: int
    published: float
    busy: float | None = None

    def __str__(self) -> str:
        return f"version {self.version}, {self.channels} × {self.length}"


def _series(version: int, milliseconds: Sequence[float]) -> list[Case]:
    """The tutorial's scaling table: lengths 1024, 2048, ... at 4096 channels."""
    return [
        Case(version, 4096, 1024 * (n + 1), ms * 1e-3)
        for n, ms in enumerate(milliseconds)
    ]


# the five times of the text
HEADLINES = (
    Case(1, 256, 512, 172.93e-6, 0.9871),
    Case(1, 4096, 512, 2.34e-3, 0.9216),
    Case(2, 4096, 512, 1.61e-3, 0.9963),
    Case(2, 4096, 8192, 53.33e-3, 0.5893),
    Case(3, 4096, 8192, 27.8e-3, 0.9485),
)
# its scaling table, without the lengths that the text has too
SCALING = (
    *_series(2, [4.4, 8.9, 13.1, 17.6, 23.7, 27.5, 41.3]),
    *_series(3, [3.3, 6.6, 10.1, 13.3, 17.3, 19.6, 24.2]),
)


@dataclass(frozen=True)
class Comparison:
    """A prediction beside the published time (all in seconds)."""

    case: Case
    fast: float
    slow: float
    spills: bool
    short: Prediction

    @property
    def predicted(self) -> float:
        """Half-way between the two readings of the documents."""
        return (self.fast + self.slow) / 2

    @property
    def error(self) -> float:
        """Signed: -0.1 is a prediction 10 % too short."""
        return self.predicted / self.case.published - 1

    @property
    def factor(self) -> float:
        """How many times too long or too short, at least 1."""
        ratio = self.predicted / self.case.published
        return max(ratio, 1 / ratio)


def compare(case: Case, kernel: Callable) -> Comparison:
    """Predict a published run from one and two iterations of its outermost loop.

    Parameters
    ----------
    kernel : callable (delta, u, A, B, C) → output
        decorated with `nki.jit`; our own version of the case's kernel
    """
    tiles = case.channels // NEURONCORE_V2.partitions
    if case.version == 1:
        shorts = [_predict(kernel, case, tiles, states) for states in (1, 2)]
        rounds = STATES
    else:
        shorts = [_predict(kernel, case, count, STATES) for count in (1, 2)]
        rounds = tiles
    fast, slow = (
        one + (rounds - 1) * (two - one)
        for one, two in zip(shorts[0].total, shorts[1].total, strict=True)
    )
    spills = shorts[1].slow.spilled_bytes > 0
    return Comparison(case, fast, slow, spills, shorts[1])


def inputs(channels: int, length: int, states: int = STATES) -> list[np.ndarray]:
    """delta, u (channels, length), A (channels, states), B, C (states, length)."""
    random = np.random.default_rng(0)
    shapes = [(channels, length)] * 2 + [(channels, states)] + [(states, length)] * 2
    delta, u, a, b, c = (random.random(s, dtype=np.float32) for s in shapes)
    return [delta, u, -a, b, c]


def _predict(kernel: Callable, case: Case, tiles: int, states: int) -> Prediction:
    arrays = inputs(tiles * NEURONCORE_V2.partitions, case.length, states)
    # rules off: AWS's compiler spills what does not fit, and so does the model
    with record() as trace, rules.off():
        kernel(*arrays)
    return predict(trace)

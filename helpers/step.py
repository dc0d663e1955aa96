"""A step of a race. Imports nothing heavy: every worker process loads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from helpers.proof import Proof


@dataclass(frozen=True)
class Step:
    """One named configuration of the workload.

    Attributes
    ----------
    name : str
        Unique within a race.
    build : callable (model, batch) -> function without arguments
        Runs in the step's own process. `model` is an fp32 module in evaluation mode,
        `batch` float32 images; gradients are off. The returned function is timed and
        must return the batch's output, of shape (images, classes).
    env : dict
        Environment variables set before the process starts.
    preload : str, optional
        An allocator to preload, a key of `helpers.preload.LIBRARIES`.
    proofs : sequence of Proof
        Evidence to take after the rounds; a step whose proof fails is *unproven*.
    threads : int, optional
        OpenMP threads of each process; by default one for each of its cores.
    processes : int
        With more than one, torchrun starts them, each is pinned to its own share of
        the cores, and throughput is what all of them finish in a common window.
    cores : tuple of int, optional
        The cores the step is pinned to before anything is imported. Several processes
        divide them; by default they divide all.
    batch_size : int, optional
        Images a call, where it differs from the race's: the first of its images.
    python : str, optional
        Another interpreter (a second environment); by default this one.
    """

    name: str
    build: Callable
    env: dict[str, str] = field(default_factory=dict)
    preload: str | None = None
    proofs: Sequence[Proof] = ()
    threads: int | None = None
    processes: int = 1
    cores: tuple[int, ...] | None = None
    batch_size: int | None = None
    python: str | None = None

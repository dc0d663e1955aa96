"""Proofs about what a compiler did: torch.compile, freezing, folding, AOTInductor."""

import re
from collections import Counter

from helpers.proof.witness import Proof, Witness


def compiled(graph_breaks: int = 0) -> Proof:
    """Dynamo captured the model, Inductor compiled it, with at most so many breaks."""

    def look(witness: Witness) -> tuple[bool, str]:
        from torch._dynamo.utils import counters

        graphs = counters["stats"]["unique_graphs"]
        breaks = sum(counters["graph_break"].values())
        inductor = sum(counters["inductor"].values())
        saw = f"{graphs} graphs, {breaks} graph breaks, {inductor} Inductor events"
        return graphs > 0 and inductor > 0 and breaks <= graph_breaks, saw

    return Proof("compiled", look)


def frozen() -> Proof:
    """Inductor packed the weights once: a call reorders none of them.

    Packed layers are counted by Inductor, reorders in oneDNN's verbose output.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        from torch._dynamo.utils import counters

        packed = sum(
            count
            for event, count in counters["inductor"].items()
            if event.endswith("weight_pack_matcher_count")
        )
        reorders = sum(p.moves_weights for p in witness.onednn)
        saw = f"{packed} layers packed, {reorders} weight reorders a call"
        return packed > 0 and reorders == 0, saw

    return Proof("frozen", look)


def folded() -> Proof:
    """A call runs convolutions and no batch norm: it was folded into their weights."""

    def look(witness: Witness) -> tuple[bool, str]:
        calls = _operators(witness.fn)
        norms = sum(n for name, n in calls.items() if "batch_norm" in name)
        convolutions = sum(n for name, n in calls.items() if "convolution" in name)
        saw = f"{norms} batch norms beside {convolutions} convolutions"
        return norms == 0 and convolutions > 0, saw

    return Proof("folded", look)


def packaged() -> Proof:
    """The shared library of an AOTInductor package is mapped into the process."""

    def look(witness: Witness) -> tuple[bool, str]:
        libraries = set(re.findall(r"/\S*/aotinductor/\S+\.so", witness.maps))
        return bool(libraries), f"{len(libraries)} libraries of packages are mapped"

    return Proof("packaged", look)


def _operators(fn) -> Counter[str]:
    """How often one call dispatches each ATen operator."""
    from torch.utils._python_dispatch import TorchDispatchMode

    counts: Counter[str] = Counter()

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            counts[function.name()] += 1
            return function(*args, **(kwargs or {}))

    with Count():
        fn()
    return counts

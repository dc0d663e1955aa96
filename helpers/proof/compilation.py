"""Proofs about torch.compile."""

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

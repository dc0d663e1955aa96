"""Proofs about conversions of data types, counted in one more call."""

from helpers.proof.witness import Proof, Witness


def few_casts(at_most: int) -> Proof:
    """A call converts at most so many tensors to another data type.

    Counted as ``aten::_to_copy`` by PyTorch's profiler. A bf16 model that converts its
    weights again on every call works, and pays for it.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            witness.fn()
        events = profiled.key_averages()
        casts = sum(e.count for e in events if e.key == "aten::_to_copy")
        return casts <= at_most, f"{casts} casts a call"

    return Proof(f"at most {at_most} casts", look)

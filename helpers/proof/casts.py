"""Proofs about conversions of data types, counted in one more call."""

from helpers.proof.witness import Proof, Witness


def weights_kept() -> Proof:
    """A call converts no weight to another data type: that was done once, before.

    A bf16 model that converts its weights again on every call works, and pays for it.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        weights, others = _casts(witness.fn)
        return weights == 0, f"{weights} weight casts and {others} others a call"

    return Proof("weights kept", look)


def _casts(fn) -> tuple[int, int]:
    """How many ``aten::_to_copy`` one call makes: of parameters, and of the rest."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    counts = [0, 0]

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is torch.ops.aten._to_copy.default:
                counts[not isinstance(args[0], torch.nn.Parameter)] += 1
            return function(*args, **(kwargs or {}))

    with Count():
        fn()
    return counts[0], counts[1]

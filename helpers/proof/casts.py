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
    """How many conversions one call makes: of parameters, and of the rest.

    They arrive as ``aten::_to_copy``, under `torch.inference_mode` as ``aten::to``.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    conversions = (torch.ops.aten._to_copy, torch.ops.aten.to)
    counts = [0, 0]

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if function.overloadpacket in conversions and result.dtype != args[0].dtype:
                counts[not isinstance(args[0], torch.nn.Parameter)] += 1
            return result

    with Count():
        fn()
    return counts[0], counts[1]

"""Count what one call of a model must do: arithmetic and memory traffic.

First used in notebook 07_graviton_baseline.
"""

from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


@dataclass(frozen=True)
class Work:
    """One call's work.

    Attributes
    ----------
    flop : int
        Floating-point operations of matrix products and convolutions (one
        multiply-add is two).
    bytes : int
        Weights, inputs and outputs of every layer that has weights, each moved once:
        the least that a layer-by-layer runtime can move.
    """

    flop: int
    bytes: int

    @property
    def intensity(self) -> float:
        """flop/byte."""
        return self.flop / self.bytes


@torch.no_grad()
def count(model: torch.nn.Module, batch: torch.Tensor) -> Work:
    """The work of ``model(batch)``, counted by running it once in fp32."""
    traffic = 0

    def add(module, inputs, output):
        nonlocal traffic
        tensors = [*module.parameters(recurse=False), inputs[0], output]
        traffic += sum(t.numel() * t.element_size() for t in tensors)

    hooks = [
        m.register_forward_hook(add)
        for m in model.modules()
        if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))
    ]
    counter = FlopCounterMode(display=False)
    # the fused attention kernel of the CPU is not counted; the plain one is
    with sdpa_kernel(SDPBackend.MATH), counter:
        model(batch)
    for hook in hooks:
        hook.remove()
    return Work(flop=counter.get_total_flops(), bytes=traffic)

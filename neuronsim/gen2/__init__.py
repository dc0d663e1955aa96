"""`nki`, generation 2 (SDK 2.29 and later): `jit`, `simulate`.

Destination-first instructions, slices instead of index expressions and masks, ordinary
loops, outputs in shared HBM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuronsim.gen2 import isa, language
from neuronsim.kernel import Kernel
from neuronsim.names import missing as _missing

__all__ = ["isa", "jit", "language", "simulate"]


def jit(function: Callable[..., Any]) -> Kernel:
    """Decorate a kernel that returns outputs in shared HBM."""
    return Kernel(function, generation=2)


def simulate(kernel: Any) -> Kernel:
    """Return a function that simulates the kernel on NumPy arrays or CPU tensors.

    ``nki.simulate(kernel)(a, b)``; with a grid ``nki.simulate(kernel[2])(a, b)``.
    """
    if not isinstance(kernel, Kernel):
        return jit(kernel)
    return Kernel(kernel.function, generation=2, grid=kernel.grid)


__getattr__ = _missing("nki", __all__)

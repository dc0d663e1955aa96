"""`neuronxcc.nki` of generation 1: `jit`, `trace`, `simulate_kernel`."""

from neuronsim import isa, language, typing
from neuronsim.kernel import jit, simulate_kernel, trace
from neuronsim.names import missing as _missing

__all__ = ["isa", "jit", "language", "simulate_kernel", "trace", "typing"]

__getattr__ = _missing("neuronxcc.nki", __all__)

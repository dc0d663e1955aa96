"""A NeuronCore on NumPy: run NKI kernels on any CPU, with the hardware's rules.

`install` makes ``import neuronxcc.nki`` (and ``import nki``) resolve here where AWS's
packages are absent; `record` keeps the instruction stream; ``rules.off()`` lets a
kernel break the rules.
"""

from neuronsim import rules
from neuronsim.install import install
from neuronsim.rules import RuleError
from neuronsim.trace import record

__all__ = ["RuleError", "install", "record", "rules"]

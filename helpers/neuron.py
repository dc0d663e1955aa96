"""Where NKI comes from: AWS's package when it imports, else the simulator.

This is the only module that decides. Notebooks and kernels write::

    from helpers.neuron import nki, nl, nisa, BACKEND     # generation 1
    from helpers.neuron import gen2                       # gen2.nki, gen2.nl, gen2.nisa
    from helpers.neuron import load_custom_op             # C++ operators of GpSimd
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from helpers.custom_op import load_custom_op as load_custom_op


@dataclass(frozen=True)
class Generation:
    """One generation of NKI and whose it is.

    Attributes
    ----------
    nki, nl, nisa : module
        The package, its `language` and its `isa`.
    backend : str
        "neuronxcc" or "nki" (AWS's), or "simulator".
    """

    nki: Any
    nl: Any
    nisa: Any
    backend: str


def _generation_1() -> Generation:
    """`neuronxcc.nki`, SDK 2.20 to 2.28."""
    try:
        import neuronxcc.nki as nki
        import neuronxcc.nki.isa as nisa
        import neuronxcc.nki.language as nl
    except ModuleNotFoundError as missing:
        _require_absent("neuronxcc", missing)
        from neuronsim import isa, language, nki

        return Generation(nki, language, isa, "simulator")
    return Generation(nki, nl, nisa, _owner(nki, "neuronxcc"))


def _generation_2() -> Generation:
    """`nki` from SDK 2.29 on; before that it cannot simulate, so ours is used."""
    from neuronsim import gen2

    simulator = Generation(gen2, gen2.language, gen2.isa, "simulator")
    try:
        import nki
        import nki.isa as nisa
        import nki.language as nl
    except ModuleNotFoundError as missing:
        _require_absent("nki", missing)
        return simulator
    if not hasattr(nki, "simulate"):
        return simulator
    return Generation(nki, nl, nisa, _owner(nki, "nki"))


def _require_absent(package: str, missing: ModuleNotFoundError) -> None:
    """Re-raise unless it is the package itself that is not installed."""
    if (missing.name or "").split(".")[0] != package:
        raise missing


def _owner(package: Any, name: str) -> str:
    return "simulator" if package.__name__.startswith("neuronsim") else name


_first = _generation_1()
nki, nl, nisa = _first.nki, _first.nl, _first.nisa
BACKEND = _first.backend
gen2 = _generation_2()

"""Make `import neuronxcc.nki` and `import nki` find the simulator."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGES = ("neuronxcc", "nki")


def install() -> None:
    """Put the simulator where AWS's NKI packages would be.

    Afterwards ``import neuronxcc.nki as nki``, ``neuronxcc.nki.language``,
    ``neuronxcc.nki.isa``, ``neuronxcc.nki.typing`` (generation 1) and ``nki``,
    ``nki.language``, ``nki.isa`` (generation 2) are the simulator's. Calling it again
    changes nothing.

    Raises
    ------
    RuntimeError
        If AWS's own package is installed: it is never shadowed.
    """
    for name in _PACKAGES:
        if _is_real(name):
            raise RuntimeError(
                f"{name} is installed ({importlib.util.find_spec(name).origin}); "  # type: ignore[union-attr]
                "the simulator does not replace AWS's package. Use it directly, or "
                "run in an environment without it"
            )
    sys.modules.update(_modules())


def _is_real(name: str) -> bool:
    loaded = sys.modules.get(name)
    if loaded is not None:
        return not getattr(loaded, "__neuronsim__", False)
    return importlib.util.find_spec(name) is not None


def _modules() -> dict[str, ModuleType]:
    from neuronsim import gen2, isa, language, nki, typing

    root = ModuleType("neuronxcc", "AWS's compiler package, as far as NKI goes.")
    root.nki = nki  # type: ignore[attr-defined]
    root.__path__ = []
    root.__spec__ = ModuleSpec("neuronxcc", None, is_package=True)
    for package in (root, gen2):
        package.__neuronsim__ = True  # type: ignore[attr-defined]
    return {
        "neuronxcc": root,
        "neuronxcc.nki": nki,
        "neuronxcc.nki.language": language,
        "neuronxcc.nki.isa": isa,
        "neuronxcc.nki.typing": typing,
        "nki": gen2,
        "nki.language": gen2.language,
        "nki.isa": gen2.isa,
    }

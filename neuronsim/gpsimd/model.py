"""Limits that concern a whole model: one custom library, no sort beside it."""

import torch

from neuronsim.gpsimd.errors import ArgumentError
from neuronsim.gpsimd.register import loaded


def check_model(model: torch.export.ExportedProgram | torch.fx.GraphModule) -> set[str]:
    """Check an exported model against the documented limits of custom operators.

    Returns
    -------
    set of str
        The custom operators it uses, as ``library.operator``.

    Raises
    ------
    ArgumentError
        If it uses operators of two custom libraries, or ``torch.sort`` beside one
        (both in "Library Limitations" of AWS's API reference).
    """
    called = {node.target for node in model.graph.nodes if node.op == "call_function"}
    names = [(op.namespace, op._opname) for op in called if hasattr(op, "namespace")]
    custom = {(space, name) for space, name in names if space in loaded()}
    libraries = sorted({space for space, _ in custom})
    if len(libraries) > 1:
        raise ArgumentError(
            f"The model uses {len(libraries)} custom libraries "
            f"({', '.join(libraries)}); put their operators into one NEURON_LIBRARY."
        )
    if custom and ("aten", "sort") in names:
        raise ArgumentError("A model with custom operators cannot use torch.sort.")
    return {f"{space}.{name}" for space, name in custom}

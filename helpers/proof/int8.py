"""Proofs that a model computes in 8 bit: its graph, its code, the kernels that ran.

First used in notebook 13_graviton_int8.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from helpers.proof.primitives import WEIGHTED
from helpers.proof.witness import Proof, Witness

LAYERS = ("aten.conv", "aten.linear")
CALLS = re.compile(r"torch\.ops\.onednn\.(qconv|qlinear)\w*")


def quantised_layers(graph) -> dict[str, int]:
    """Layers of a PT2E graph (torch.fx.GraphModule), and what their operands hold.

    Returns the number of convolutions and Linears (`layers`), of those whose input and
    weights are both dequantised 8-bit numbers (`quantised`), and of the quantised ones
    those with a scale per output channel (`per_channel`) and with inputs in u8
    (`unsigned`).
    """
    counts = Counter(layers=0, quantised=0, per_channel=0, unsigned=0)
    for node in graph.graph.nodes:
        if not str(node.target).startswith(LAYERS):
            continue
        counts["layers"] += 1
        source, weights = (_dequantised(argument) for argument in node.args[:2])
        if source is None or weights is None:
            continue
        counts["quantised"] += 1
        counts["per_channel"] += "per_channel" in str(weights.target)
        counts["unsigned"] += "torch.uint8" in map(str, source.args)
    return dict(counts)


def quantised(min_ops: int = 1) -> Proof:
    """The step's graph has at least so many layers between 8-bit operands.

    It says what the compiler was given, not what it made of it: see `int8_code`.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        graphs = list(_graphs(witness.fn))
        if not graphs:
            return False, "the step's function holds no graph"
        counts = [quantised_layers(graph) for graph in graphs]
        found = sum(c["quantised"] for c in counts)
        layers = sum(c["layers"] for c in counts)
        return found >= min_ops, f"{found} of {layers} layers are quantised"

    return Proof("quantised", look)


def int8_code(min_ops: int = 1) -> Proof:
    """Inductor's generated code calls oneDNN's quantised layers at least so often.

    It says what will be asked for, not which kernel answers: see `int8_kernels`.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        from torch._inductor.codecache import PyCodeCache

        modules = [Path(str(module.__file__)) for module in PyCodeCache.modules]
        found = Counter(call for m in modules for call in CALLS.findall(m.read_text()))
        saw = ", ".join(f"{count} {call}" for call, count in sorted(found.items()))
        return found.total() >= min_ops, f"the code calls {saw or 'no qconv, qlinear'}"

    return Proof("8-bit code", look)


def int8_kernels(min_ops: int = 1) -> Proof:
    """One more call ran so many oneDNN layers on 8-bit operands, none by a `ref`."""

    def look(witness: Witness) -> tuple[bool, str]:
        run = [p for p in witness.onednn if p.kind in WEIGHTED]
        eight = [p for p in run if _in_8_bit(p)]
        slow = sum("ref" in p.implementation for p in eight)
        names = Counter(p.implementation for p in eight)
        saw = f"{len(eight)} of {len(run)} layers ran in 8 bit"
        saw += "".join(f", {n} {name}" for name, n in names.most_common())
        return len(eight) >= min_ops and not slow, saw

    return Proof("8-bit kernels", look)


def _in_8_bit(primitive) -> bool:
    return primitive.source_dtype in ("u8", "s8") and primitive.weights_dtype == "s8"


def _dequantised(node):
    """The dequantising node that a layer's operand comes from, else None."""
    while node is not None and "_to_copy" in str(node.target):
        node = node.args[0]
    return node if "dequantize" in str(getattr(node, "target", "")) else None


def _graphs(fn) -> Iterator:
    """The graphs that a step's function has in its closure, compiled or not."""
    import torch

    for cell in fn.__closure__ or ():
        held = cell.cell_contents
        held = getattr(held, "_orig_mod", held)
        if isinstance(held, torch.fx.GraphModule):
            yield held

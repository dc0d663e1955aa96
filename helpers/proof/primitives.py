"""Proofs about the oneDNN primitives that one more call runs."""

from collections import Counter

from helpers import onednn_log
from helpers.proof.witness import Proof, Witness

# oneDNN's tag of a tensor whose channels come last
LAYOUTS = {"nhwc": "acdb", "nchw": "abcd"}


# what has weights, and may take them in another data type
WEIGHTED = ("convolution", "inner_product", "matmul")


def onednn(*, layout: str | None = None, dtype: str | None = None) -> Proof:
    """oneDNN ran the layers in this layout and data type, none by a `ref` kernel.

    Read from the verbose lines of one more call: the layout of each convolution's
    source and the reorders of activations, the data type of every layer's weights (the
    fpmath attribute is printed even where it does nothing), the implementation's name.
    Layers that another library computes (fp32 matrix products on x86-64) are not seen.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        layers = _layers(witness)
        if not layers:
            return False, "oneDNN ran no layer"
        checks = [_no_reference(layers)]
        if layout is not None:
            checks.append(_in_layout(witness, LAYOUTS[layout]))
        if dtype is not None:
            checks.append(_in_dtype(layers, dtype))
        return all(ok for ok, _ in checks), "; ".join(saw for _, saw in checks)

    wanted = ", ".join(w for w in (layout, dtype) if w) or "any"
    return Proof(f"oneDNN {wanted}", look)


def _layers(witness: Witness) -> list[onednn_log.Primitive]:
    return [p for p in witness.onednn if p.kind in WEIGHTED]


def _no_reference(layers) -> tuple[bool, str]:
    names = Counter(f"{p.kind} {p.implementation}" for p in layers)
    listed = ", ".join(f"{n} {name}" for name, n in names.most_common())
    return not any("ref" in p.implementation for p in layers), listed


def _in_layout(witness: Witness, tag: str) -> tuple[bool, str]:
    convolutions = [p for p in witness.onednn if p.kind == "convolution"]
    right = sum(p.source_tag == tag for p in convolutions)
    reorders = sum(p.moves_activations for p in witness.onednn)
    saw = f"{right} of {len(convolutions)} read {tag}, {reorders} activation reorders"
    return 0 < right == len(convolutions) and reorders == 0, saw


def _in_dtype(layers, dtype: str) -> tuple[bool, str]:
    right = sum(p.weights_dtype == dtype for p in layers)
    return right == len(layers), f"{right} of {len(layers)} weights {dtype}"


def fast_math(dtype: str = "bf16") -> Proof:
    """oneDNN multiplied fp32 tensors with weights that it had converted to `dtype`.

    The attribute `fpmath` alone is no proof: it is printed where nothing changes.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        run = _layers(witness)
        fp32 = [p for p in run if p.source_dtype == "f32"]
        right = [p for p in fp32 if p.weights_dtype == dtype]
        asked = sum(f"fpmath:{dtype}" in p.attributes for p in run)
        slow = [p for p in right if "ref" in p.implementation]
        saw = (
            f"{len(right)} of {len(fp32)} fp32 primitives with {dtype} weights, "
            f"{asked} with the attribute"
        )
        saw += f"; {len(slow)} by a reference kernel" if slow else ""
        return bool(right) and not slow, saw

    return Proof(f"fast math {dtype}", look)


def primitive_cache() -> Proof:
    """The framework keeps its layers: none is looked up in oneDNN's own cache."""

    def look(witness: Witness) -> tuple[bool, str]:
        run = len(_layers(witness))
        lookups = onednn_log.lookups(witness.onednn_text)
        found = sum(lookups[kind] for kind in WEIGHTED)
        return run > 0 and found == 0, f"{found} look-ups for {run} layers"

    return Proof("primitive cache", look)

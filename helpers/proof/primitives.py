"""Proofs about the oneDNN primitives that one more call runs."""

from collections import Counter

from helpers import onednn_log
from helpers.proof.witness import Proof, Witness

# oneDNN's tag of a tensor whose channels come last
LAYOUTS = {"nhwc": "acdb", "nchw": "abcd"}


def onednn(*, layout: str | None = None, dtype: str | None = None) -> Proof:
    """oneDNN ran the convolutions in this layout and data type, none by a `ref` kernel.

    Read from the verbose lines of one more call: the layout of each convolution's
    source and the reorders of activations, the data type of its weights (the fpmath
    attribute is printed even where it does nothing), the implementation's name.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        convolutions = [p for p in witness.onednn if p.kind == "convolution"]
        if not convolutions:
            return False, "oneDNN ran no convolution"
        checks = [_no_reference(convolutions)]
        if layout is not None:
            checks.append(_in_layout(witness.onednn, convolutions, LAYOUTS[layout]))
        if dtype is not None:
            checks.append(_in_dtype(convolutions, dtype))
        return all(ok for ok, _ in checks), "; ".join(saw for _, saw in checks)

    wanted = ", ".join(w for w in (layout, dtype) if w) or "any"
    return Proof(f"oneDNN {wanted}", look)


def _no_reference(convolutions) -> tuple[bool, str]:
    names = Counter(p.implementation for p in convolutions)
    listed = ", ".join(f"{n} {name}" for name, n in names.most_common())
    return not any("ref" in name for name in names), f"convolutions: {listed}"


def _in_layout(primitives, convolutions, tag: str) -> tuple[bool, str]:
    right = sum(p.source_tag == tag for p in convolutions)
    reorders = sum(p.moves_activations for p in primitives)
    saw = f"{right} of {len(convolutions)} read {tag}, {reorders} activation reorders"
    return right == len(convolutions) and reorders == 0, saw


def _in_dtype(convolutions, dtype: str) -> tuple[bool, str]:
    right = sum(p.weights_dtype == dtype for p in convolutions)
    return right == len(convolutions), f"{right} of {len(convolutions)} weights {dtype}"


# what has weights and may take them in another data type
WEIGHTED = ("convolution", "inner_product", "matmul")


def fast_math(dtype: str = "bf16") -> Proof:
    """oneDNN multiplied fp32 tensors with weights that it had converted to `dtype`.

    The attribute `fpmath` alone is no proof: it is printed where nothing changes.
    """

    def look(witness: Witness) -> tuple[bool, str]:
        run = [p for p in witness.onednn if p.kind in WEIGHTED]
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
    """The framework keeps its convolutions: none is looked up in oneDNN's cache."""

    def look(witness: Witness) -> tuple[bool, str]:
        run = sum(p.kind == "convolution" for p in witness.onednn)
        found = onednn_log.lookups(witness.onednn_text)["convolution"]
        return run > 0 and found == 0, f"{found} look-ups for {run} convolutions"

    return Proof("primitive cache", look)

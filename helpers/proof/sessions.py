"""What an ONNX Runtime session really took over: options, threads, 8-bit kernels.

A step's function names what can be read in attributes: ``fn.session`` (the
`InferenceSession`), ``fn.feed`` (its inputs by name), ``fn.twin`` (a function that
makes the same session without the option in question) and ``fn.optimised`` (the path
of the model that the session saved after its optimisations). Without the attribute
it needs, a proof does not hold and says so. First used in notebook
14_graviton_onnxruntime.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from helpers.proof.witness import Proof, Witness

# nodes of an optimised model that ONNX Runtime computes in 8 bit
EIGHT_BIT = (
    "ConvInteger",
    "DynamicQuantizeMatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "QAttention",
    "QGemm",
    "QLinearConv",
    "QLinearMatMul",
)
TASKS = Path("/proc/self/task")


def ort_option(key: str, value: str) -> Proof:
    """The session has the entry `key` = `value`, and its outputs' bits differ."""

    def look(fn) -> tuple[bool, str]:
        has = entry(fn.session, key)
        if has != value:
            return False, "the session has no such entry" if has is None else has
        differ, total = different_bits(fn)
        return differ > 0, f"entry {has!r} read back; {differ} of {total} bytes differ"

    return _proof(
        f"{key.rpartition('.')[2]} = {value}", look, "session", "feed", "twin"
    )


def entry(session, key: str) -> str | None:
    """The session's configuration entry, or None where it was made without."""
    try:
        return session.get_session_options().get_session_config_entry(key)
    except RuntimeError:  # "SessionOptions does not have configuration with key"
        return None


def different_bits(fn) -> tuple[int, int]:
    """Bytes of the output that differ from the twin's, and their number."""
    ours, theirs = (s.run(None, fn.feed)[0] for s in (fn.session, fn.twin()))
    return int(np.sum(ours.view(np.uint8) != theirs.view(np.uint8))), ours.nbytes


def ort_quantised(min_ops: int = 1) -> Proof:
    """At least `min_ops` nodes of the optimised model are computed in 8 bit."""

    def look(fn) -> tuple[bool, str]:
        counts = node_counts(fn.optimised)
        right = {op: n for op, n in counts.items() if op in EIGHT_BIT}
        saw = ", ".join(f"{n} {op}" for op, n in sorted(right.items())) or "none"
        return sum(right.values()) >= min_ops, f"of {counts.total()} nodes: {saw}"

    return _proof(f"at least {min_ops} nodes in 8 bit", look, "optimised")


def node_counts(path: str | Path) -> Counter[str]:
    """How many nodes of each kind a saved ONNX model has."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    return Counter(node.op_type for node in graph.node)


def ort_threads(count: int) -> Proof:
    """The session asks for `count` threads, and its twin starts that many.

    The calling thread is one of them: a pool of `count` starts `count` - 1.
    """

    def look(fn) -> tuple[bool, str]:
        asked = fn.session.get_session_options().intra_op_num_threads
        before = len(list(TASKS.iterdir()))
        twin = fn.twin()
        started = len(list(TASKS.iterdir())) - before + 1
        del twin
        saw = f"asked for {asked}, a session runs on {started}"
        return asked == started == count, saw

    return _proof(f"{count} ONNX Runtime thread(s)", look, "session", "twin")


def ort_provider(name: str = "CPUExecutionProvider") -> Proof:
    """The session's first provider is `name`."""

    def look(fn) -> tuple[bool, str]:
        providers = fn.session.get_providers()
        return providers[:1] == [name], ", ".join(providers)

    return _proof(f"runs on {name}", look, "session")


def _proof(name: str, look: Callable, *needs: str) -> Proof:
    def from_witness(witness: Witness) -> tuple[bool, str]:
        missing = [need for need in needs if not hasattr(witness.fn, need)]
        if missing:
            return False, f"the step's function has no attribute {', '.join(missing)}"
        return look(witness.fn)

    return Proof(name, from_witness)

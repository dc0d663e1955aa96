"""What OpenVINO executed, layer by layer: read from the compiled model.

A step's function names its model in an attribute, ``fn.compiled_model``; without it
there is nothing to read, and the proof does not hold. First used in notebook
15_graviton_openvino.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from helpers.proof.witness import Proof, Witness

# the layers that hold a model's arithmetic
HEAVY = ("Convolution", "FullyConnected", "MatMul")
EIGHT_BITS = ("u8", "i8")
NO_MODEL = "the step's function has no attribute compiled_model to read"


@dataclass(frozen=True)
class Layer:
    """One executed layer: "Convolution", "f32", "brgconv_avx2_f32"."""

    kind: str
    precision: str
    kernel: str

    @property
    def simulated(self) -> bool:
        """Whether a plain loop runs it, for want of a kernel: names with `ref`."""
        return "ref" in self.kernel.split("_")


def executed(compiled) -> list[Layer]:
    """Every layer of the runtime model of an `openvino.CompiledModel`.

    Call it after an inference: with a dynamic shape some kernels are chosen then.
    Keys: https://docs.openvino.ai, "CPU Device", "Runtime model" (`layerType`,
    `runtimePrecision`, `primitiveType`).
    """
    keys = ("layerType", "runtimePrecision", "primitiveType")
    infos = (op.get_rt_info() for op in compiled.get_runtime_model().get_ops())
    return [Layer(*(_text(info[key]) for key in keys)) for info in infos]


def _text(value) -> str:
    return value if isinstance(value, str) else str(value.astype(str))


def heavy(layers: list[Layer]) -> list[Layer]:
    """Those with arithmetic worth the name: convolutions and matrix products."""
    return [layer for layer in layers if layer.kind in HEAVY]


def openvino_precision(dtype: str) -> Proof:
    """Every convolution and matrix product is executed in `dtype` ("f32", "f16")."""

    def look(compiled) -> tuple[bool, str]:
        layers = heavy(executed(compiled))
        right = [layer for layer in layers if layer.precision == dtype]
        holds = bool(layers) and len(right) == len(layers)
        return holds, f"{len(right)} of {len(layers)} in {dtype}: {kernels(layers)}"

    return _proof(f"OpenVINO executes {dtype}", look)


def openvino_int8(min_ops: int = 1) -> Proof:
    """At least `min_ops` convolutions and products run in 8 bit, not simulated."""

    def look(compiled) -> tuple[bool, str]:
        layers = heavy(executed(compiled))
        right = [layer for layer in layers if in_8_bit(layer)]
        saw = f"{len(right)} of {len(layers)} in 8 bit: {kernels(layers)}"
        return len(right) >= min_ops, saw

    return _proof(f"at least {min_ops} in 8 bit", look)


def in_8_bit(layer: Layer) -> bool:
    return layer.precision in EIGHT_BITS and not layer.simulated


def openvino_streams(at_least: int = 2) -> Proof:
    """The compiled model serves `at_least` requests at the same time."""

    def look(compiled) -> tuple[bool, str]:
        streams = int(compiled.get_property("NUM_STREAMS"))
        best = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        saw = f"{streams} stream(s), {best} request(s) are optimal"
        return streams >= at_least, saw

    return _proof(f"at least {at_least} streams", look)


def kernels(layers: list[Layer]) -> str:
    """As in "17 brgconv_avx2_f32, 3 brgconv_avx2_1x1_f32", the most frequent first."""
    counts = Counter(layer.kernel for layer in layers)
    return ", ".join(f"{n} {kernel}" for kernel, n in counts.most_common()) or "none"


def _proof(name: str, look: Callable) -> Proof:
    def from_witness(witness: Witness) -> tuple[bool, str]:
        compiled = getattr(witness.fn, "compiled_model", None)
        return (False, NO_MODEL) if compiled is None else look(compiled)

    return Proof(name, from_witness)

"""Evidence, read from the running process, that a step's optimisation is in effect.

A proof is a name and a function from `Witness` to `Finding`. It returns what it saw;
an optimisation that is not in effect is a result, never an exception.
First used in notebook 09_graviton_batching.
"""

from helpers.proof.casts import weights_kept
from helpers.proof.compilation import compiled, folded, frozen, packaged
from helpers.proof.int8 import int8_code, int8_kernels, quantised
from helpers.proof.layers import openvino_int8, openvino_precision, openvino_streams
from helpers.proof.primitives import fast_math, onednn, primitive_cache
from helpers.proof.process import huge_pages, pinned, tcmalloc_loaded
from helpers.proof.sessions import (
    ort_option,
    ort_provider,
    ort_quantised,
    ort_threads,
)
from helpers.proof.threads import pinned_threads
from helpers.proof.version import torch_version
from helpers.proof.witness import Finding, Proof, Witness

__all__ = [
    "Finding",
    "Proof",
    "Witness",
    "compiled",
    "fast_math",
    "folded",
    "frozen",
    "huge_pages",
    "int8_code",
    "int8_kernels",
    "onednn",
    "openvino_int8",
    "openvino_precision",
    "openvino_streams",
    "ort_option",
    "ort_provider",
    "ort_quantised",
    "ort_threads",
    "packaged",
    "pinned",
    "pinned_threads",
    "primitive_cache",
    "quantised",
    "tcmalloc_loaded",
    "torch_version",
    "weights_kept",
]

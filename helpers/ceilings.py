"""What this machine could do: the ceilings of its roofline.

First used in notebook 07_graviton_baseline.
"""

import re
from pathlib import Path

import numpy as np
import torch

from helpers.machine import Machine
from helpers.measure import measure
from helpers.plots import Ceiling

# fp32 flop a cycle and core. Arm: FMLA issue width times lanes times 2, from LLVM's
# scheduling models of the cores; x86: two FMA units of the vector's width, which not
# every processor with AVX-512 has.
FLOP_PER_CYCLE = {
    "graviton2": 16,
    "graviton3": 32,
    "graviton4": 32,
    "avx512": 64,
    "avx2": 32,
}
# GHz without turbo: aws-graviton-getting-started, README table (2026-07-01)
CLOCK_GHZ = {"graviton2": 2.5, "graviton3": 2.6, "graviton4": 2.8}


def arithmetic(size: int = 2048, *, budget: float = 2.0) -> Ceiling:
    """The best measured rate of an fp32 matrix product of size x size, in flop/s.

    The fastest sample counts: a ceiling is what was reached once, not usually. It is
    not the hardware's limit: another library's product may be faster than PyTorch's.
    """
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(size, size, generator=generator) for _ in range(2))
    best = min(measure(lambda: a @ b, budget=budget).samples)
    return Ceiling("fp32 GEMM", 2 * size**3 / best, "measured", "compute")


def int8_arithmetic(size: int = 2048, *, budget: float = 2.0) -> Ceiling:
    """The best measured rate of a u8 by s8 matrix product, in operations/s.

    By ONNX Runtime's MatMulInteger, which has a kernel for each instruction set; exact,
    so its output is compared. PyTorch's `torch._int_mm` is a plain loop without VNNI.
    """
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    generator = np.random.default_rng(0)
    a = generator.integers(0, 128, (size, size), dtype=np.uint8)
    b = generator.integers(-64, 64, (size, size), dtype=np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["c"])],
        "product",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, a.shape)],
        [helper.make_tensor_value_info("c", TensorProto.INT32, a.shape)],
        [onnx.numpy_helper.from_array(b, "b")],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (product,) = session.run(None, {"a": a})
    if (product[0] != a[0].astype(np.int32) @ b.astype(np.int32)).any():
        raise RuntimeError("this ONNX Runtime's MatMulInteger computes wrong products")
    best = min(measure(lambda: session.run(None, {"a": a}), budget=budget).samples)
    return Ceiling("int8 GEMM", 2 * size**3 / best, "measured", "compute")


def bandwidth(mebibytes: int = 256, *, budget: float = 2.0) -> Ceiling:
    """The best measured rate of copying memory, in bytes/s read plus written.

    The buffers are larger than the last cache, or the cache would be measured.
    """
    source = torch.ones(mebibytes * 2**20, dtype=torch.uint8)
    target = torch.empty_like(source)
    best = min(measure(lambda: target.copy_(source), budget=budget).samples)
    return Ceiling("memory copy", 2 * source.numel() / best, "measured", "bandwidth")


def instruction_set(machine: Machine) -> Ceiling | None:
    """The fp32 peak that clock, cores and vector width predict; None if unknown.

    x86 prints a nominal clock: a processor that boosts goes above this peak.
    """
    keys = [machine.chip, *(f for f in ("avx512", "avx2") if machine.has(f))]
    known = next((key for key in keys if key in FLOP_PER_CYCLE), None)
    clock = CLOCK_GHZ.get(machine.chip) or _x86_clock_ghz()
    if known is None or clock is None:
        return None
    # two hardware threads of a core share its vector units
    cores = machine.cores / machine.threads_per_core
    peak = FLOP_PER_CYCLE[known] * clock * 1e9 * cores
    return Ceiling(
        f"{known} fp32 peak at {clock:.2f} GHz", peak, "predicted", "compute"
    )


def _x86_clock_ghz() -> float | None:
    """The clock that /proc/cpuinfo prints at this moment; arm64 kernels print none."""
    found = re.search(r"^cpu MHz\s*: ([\d.]+)", Path("/proc/cpuinfo").read_text(), re.M)
    return float(found[1]) / 1000 if found else None

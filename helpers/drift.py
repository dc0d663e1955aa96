"""How far a step's output is from the fp32 reference."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Drift:
    """Distance of one output from the reference.

    Attributes
    ----------
    sqnr_db : float
        Signal-to-quantisation-noise ratio in dB: 10 log10(sum ref² / sum (out-ref)²).
        Infinite for equal outputs; 100 and more is rounding, 30 to 40 is INT8.
    top1 : float
        Share of images whose highest class is the reference's, 0 to 1.
    """

    sqnr_db: float
    top1: float

    def __str__(self) -> str:
        return f"{self.sqnr_db:.0f} dB, top-1 {self.top1:.0%}"


def drift(output: np.ndarray, reference: np.ndarray) -> Drift:
    """Compare two outputs of shape (images, classes); raises ValueError on shapes."""
    if output.shape != reference.shape:
        raise ValueError(
            f"output has shape {output.shape}, the reference {reference.shape}; "
            "a step must return the whole batch's output"
        )
    out, ref = output.astype(np.float64), reference.astype(np.float64)
    noise = float(np.sum((out - ref) ** 2))
    signal = float(np.sum(ref**2))
    if not math.isfinite(noise):
        return Drift(sqnr_db=-math.inf, top1=0.0)
    sqnr = math.inf if noise == 0 else 10 * math.log10(max(signal, 1e-300) / noise)
    top1 = float(np.mean(out.argmax(axis=-1) == ref.argmax(axis=-1)))
    return Drift(sqnr_db=sqnr, top1=top1)

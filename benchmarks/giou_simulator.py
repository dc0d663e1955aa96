"""The GIoU kernels on the simulator beside the same arithmetic in plain NumPy.

    python benchmarks/giou_simulator.py [rows] [boxes]

Simulator and NumPy alternate, so that a busy machine slows both; a ratio is the median
of the ratios of neighbouring calls. The target at 1024 × 256: under 1 s, at most 6 ×.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from helpers import cells
from helpers.neuron import BACKEND, gen2, nki, nl

NOTEBOOK = "02_nki_giou_kernel"
ROUNDS = 15


def kernels() -> SimpleNamespace:
    """What the source cells of notebook 02 define."""
    names = {"np": np, "math": math, "nki": nki, "nl": nl, "gen2": gen2}
    for tag in cells.tags(NOTEBOOK):
        names.update(vars(cells.load(NOTEBOOK, tag, **names)))
    return SimpleNamespace(**names)


def plain_numpy(preds: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The kernel's arithmetic on whole float32 arrays (rows, 4 * boxes)."""

    def area(x1, y1, x2, y2):
        return np.maximum(x2 - x1, 0) * np.maximum(y2 - y1, 0)

    p, t = ([side[:, k::4] for k in range(4)] for side in (preds, targets))
    low = np.maximum(p[0], t[0]), np.maximum(p[1], t[1])
    inter = area(*low, np.minimum(p[2], t[2]), np.minimum(p[3], t[3]))
    low = np.minimum(p[0], t[0]), np.minimum(p[1], t[1])
    enclose = area(*low, np.maximum(p[2], t[2]), np.maximum(p[3], t[3]))
    union = area(*p) + area(*t) - inter
    floor = np.float32(1e-7)
    unused = (enclose - union) / np.maximum(enclose, floor)
    return inter / np.maximum(union, floor) - unused


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(rows: int = 1024, boxes: int = 256) -> None:
    book = kernels()
    preds, targets = (book.random_boxes(seed, rows, boxes) for seed in (0, 1))
    exact = book.giou_reference(
        preds.reshape(rows, boxes, 4), targets.reshape(rows, boxes, 4)
    )
    out = np.empty((rows, boxes), dtype=np.float32)
    calls = {
        "output argument": lambda: (
            nki.simulate_kernel(book.giou_output_argument, preds, targets, out),
            out,
        )[1],
        "returned": lambda: nki.simulate_kernel(book.giou_kernel, preds, targets),
        "generation 2": lambda: gen2.nki.simulate(book.giou_gen2)(preds, targets),
    }
    print(f"{rows} x {boxes} boxes, NKI from {BACKEND}; seconds are medians, measured")
    print("kernel             simulator     NumPy   ratio   largest error")
    for name, call in calls.items():
        error = np.abs(call() - exact).max()
        pairs = [
            (seconds(call), seconds(lambda: plain_numpy(preds, targets)))
            for _ in range(ROUNDS)
        ]
        mine, numpys = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{name:18}{mine:10.4f}{numpys:10.4f}{ratio:8.2f}{error:16.1e}")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))

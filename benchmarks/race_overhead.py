"""What a race's clock costs: a round of samples against a bare loop of the same calls.

``python benchmarks/race_overhead.py`` alternates both on about 5 ms of work, in one
process, and prints the paired ratio of wall time with its 95 % interval. A ratio below
1.01 means an overhead below 1 %.
"""

import math
import time

import numpy as np
import torch

from helpers.ratio import signed_rank_interval
from helpers.sampling import take

CALLS, PAIRS = 20, 60


def bare_loop(fn, count: int) -> float:
    """Seconds of `count` calls with no clock between them."""
    start = time.perf_counter()
    for _ in range(count):
        fn()
    return time.perf_counter() - start


def a_round(fn, count: int) -> float:
    """Seconds of a round of `count` samples, as `helpers.worker` takes them."""
    start = time.perf_counter()
    take(fn, count=count)
    return time.perf_counter() - start


if __name__ == "__main__":
    torch.set_num_threads(1)
    values = torch.linspace(0, 1, 4_000_000)
    out = torch.empty_like(values)  # allocated once: no page faults in the work

    def work():
        return torch.sin(values, out=out)

    bare_loop(work, CALLS)
    bare, clocked = [], []
    for pair in range(PAIRS):
        both = [(bare, bare_loop), (clocked, a_round)]
        for seconds, way in both if pair % 2 else reversed(both):
            seconds.append(way(work, CALLS))
    print(f"a call takes {min(bare) / CALLS * 1e3:.2f} ms")
    found = signed_rank_interval(np.log(clocked) - np.log(bare))
    ratio, low, high = map(math.exp, found)
    print(f"a round over a bare loop: {ratio:.4f} [{low:.4f}, {high:.4f}]")

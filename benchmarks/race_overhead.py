"""What a race's clock costs: calls timed one by one against calls timed by the twenty.

``python benchmarks/race_overhead.py`` races the same 5 ms of work both ways and prints
the paired ratio per call. Overhead below 1 % means a ratio above 0.99.
"""

import torch

from helpers.race import race
from helpers.step import Step

TOGETHER = 20


def work(elements: int = 3_000_000):
    """About 5 ms of one core's arithmetic, and an output of the shape a step has."""
    values = torch.linspace(0, 1, elements)

    return lambda: torch.sin(values).sum()


def one_by_one(model, batch):
    call = work()
    return lambda: call() + torch.zeros(1, 1000)


def together(model, batch):
    call = work()

    def calls():
        for _ in range(TOGETHER):
            total = call()
        return total + torch.zeros(TOGETHER, 1000)

    return calls


if __name__ == "__main__":
    steps = [
        Step("20 calls, one sample", together, threads=1),
        Step("1 call, one sample", one_by_one, threads=1, batch_size=1),
    ]
    done = race(steps, model="resnet18_64px", batch_size=TOGETHER, budget=20)
    a_call = done["1 call, one sample"].latency
    print(f"a call takes {a_call * 1e3:.2f} ms; rounds: {len(done.baseline.rounds)}")
    ratio = done.speed_up("1 call, one sample")
    print(f"rate of clocked calls over unclocked ones: {ratio}")

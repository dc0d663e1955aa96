"""Notebook 03 where PyTorch/XLA is missing, its operator, and its recorded run."""

from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient
from torch.utils._python_dispatch import TorchDispatchMode

from helpers import cells, lazy, plots
from helpers.neuron import nki

NAME = "03_timing_a_lazy_device"
OPERATIONS = 44  # of the article's baseline in PyTorch, counted in its listing
# what a machine without the package looks like to the notebook
HIDE = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: (
    None if name == "torch_xla" else found(name, *rest)
)
"""


def test_without_xla_it_shows_the_recorded_run_and_says_so(tmp_path):
    book = nbformat.read(cells.NOTEBOOKS / f"{NAME}.ipynb", as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(HIDE))
    smoke = nbformat.v4.new_code_cell('profile = "smoke"')
    place = next(i for i, c in enumerate(book.cells) if c.metadata.get("tags"))
    book.cells.insert(place + 1, smoke)
    NotebookClient(book, timeout=300, cwd=str(tmp_path)).execute()
    text = "".join(
        output.get("text", "")
        for cell in book.cells
        for output in cell.get("outputs", [])
    )
    run = lazy.recorded()
    assert "torch-xla is not installed" in text
    assert f"{run['machine']}, recorded on {run['date']}" in text
    assert "graphs computed" in text


def test_the_recorded_run_is_whole_and_shows_the_lesson():
    run = lazy.recorded()
    rows = sorted(map(int, run["samples"]))
    assert len(rows) >= 3
    medians = {
        way: [np.median(run["samples"][str(n)][way]) for n in rows]
        for way in ("record", "mark", "wait")
    }
    assert abs(plots.slope(rows, medians["record"])) < 0.2
    assert plots.slope(rows, medians["wait"]) > 0.4
    assert run["facts"]["computed, dropped"] == 0
    assert run["facts"]["computed, kept"] == 10
    assert run["facts"]["operations"] == OPERATIONS


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 256)])
def test_its_operator_agrees_with_float64(shape):
    giou = cells.load(NAME, "giou_torch").giou_torch
    reference = cells.load("02_nki_giou_kernel", "giou_reference", np=np).giou_reference
    rng = np.random.default_rng(0)
    corner, side = (
        rng.uniform(0, 200, (2, *shape, 2)),
        rng.uniform(1, 55, (2, *shape, 2)),
    )
    a, b = np.concatenate([corner, corner + side], axis=-1).astype(np.float32)
    ours = giou(torch.tensor(a), torch.tensor(b)).numpy()
    assert np.abs(ours - reference(a, b)).max() < 1e-5


class Count(TorchDispatchMode):
    """Counts the operations that PyTorch dispatches."""

    operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.operations += 1
        return func(*args, **(kwargs or {}))


def test_its_operator_has_as_many_operations_as_the_articles_baseline():
    giou = cells.load(NAME, "giou_torch").giou_torch
    with Count() as count:
        giou(torch.ones(2, 3, 4), torch.ones(2, 3, 4))
    # one call of ones() each makes the inputs
    assert count.operations - 2 == OPERATIONS


def test_nki_benchmark_is_given_the_kernel_and_read_in_seconds():
    """AWS's tool replaced by one that simulates, because it needs a device."""
    seen = []

    class Benchmark:
        def __init__(self, kernel):
            self.kernel = kernel

        def __call__(self, a, b):
            seen.append(nki.simulate_kernel(self.kernel, a, b).shape)
            latency = SimpleNamespace(get_latency_percentile=lambda p: 100.0 + p)
            self.benchmark_result = SimpleNamespace(nc_latency=latency)

    def some_boxes(rows):
        return np.ones((2, rows, 8, 4), dtype=np.float32)

    book = cells.load(
        NAME,
        "nki_benchmark",
        np=np,
        cells=cells,
        NOTEBOOK="02_nki_giou_kernel",
        some_boxes=some_boxes,
    )
    fake = SimpleNamespace(benchmark=Benchmark, jit=nki.jit)
    book.nki_benchmark.__globals__["nki"] = fake
    assert book.nki_benchmark(130)[50] == pytest.approx(150e-6)
    assert seen == [(130, 8)]


def test_a_slope_is_the_exponent():
    assert plots.slope([1, 2, 4], [3, 6, 12]) == pytest.approx(1)
    assert plots.slope([1, 2, 4], [3, 3, 3]) == pytest.approx(0)
    chart = plots.scaling([1, 2], {"wait": [1e-3, 2e-3]}, xlabel="rows")
    assert "wait (slope 1.00): 1 ms, 2 ms" in chart.alt

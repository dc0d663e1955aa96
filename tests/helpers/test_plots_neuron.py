"""Rooflines, chips, timelines and predictions as figures: what they say and draw."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import plots
from helpers.plots import labels, style
from neuronsim import isa as nisa
from neuronsim import language as nl
from neuronsim import nki, record
from neuronsim.hardware import NEURONCORE_V2, NEURONCORE_V3
from neuronsim.timeline import predict
from neuronsim.validation import HEADLINES, Comparison

CEILINGS = [
    plots.Ceiling("peak", 100e9, "published", "compute"),
    plots.Ceiling("memory", 10e9, "measured", "bandwidth"),
]


@pytest.fixture(scope="module")
def prediction():
    import numpy as np

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for t in nl.affine_range(4):
            part = nl.ds(256 * t, 256)
            tile = nisa.activation(op=nl.exp, data=nl.load(x[:, part]))
            nl.store(out[:, part], nisa.tensor_tensor(tile, tile, op=nl.add))
        return out

    with record() as trace:
        kernel(np.ones((128, 1024), np.float32))
    return predict(trace)


@pytest.mark.parametrize(("intensity", "expected"), [(1, 10e9), (10, 1e11), (99, 1e11)])
def test_the_roof_is_bandwidth_first_and_then_compute(intensity, expected):
    assert plots.attainable(intensity, CEILINGS) == expected


def test_a_roofline_without_one_kind_of_ceiling_is_an_error():
    with pytest.raises(ValueError, match="one compute and one bandwidth"):
        plots.attainable(1, CEILINGS[:1])


def test_a_rooflines_text_names_points_kinds_and_their_share():
    chart = plots.roofline([("mine", 1, 5e9, "measured")], CEILINGS)
    assert "mine (measured) at 1 flop/byte runs at 5 Gflop/s, 50%" in chart.alt
    assert "peak 100 Gflop/s (published)" in chart.alt


def test_a_roofline_shows_points_above_the_roof():
    chart = plots.roofline([("claimed", 1, 1e12, "published")], CEILINGS)
    axes = chart.figure.axes[0]
    assert axes.get_ylim()[1] > 1e12
    assert axes.get_xlim()[0] < 1 < axes.get_xlim()[1]


def test_a_roofline_marks_kinds_by_shape_and_colour():
    points = [(kind, 1, 1e9, kind) for kind in style.KINDS]
    axes = plots.roofline(points, CEILINGS).figure.axes[0]
    looks = {
        (line.get_marker(), line.get_color())
        for line in axes.lines
        if line.get_marker() in ("o", "^", "s")
    }
    assert len(looks) == len(style.KINDS)


positions = st.lists(st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 0.9)), max_size=4)


@settings(max_examples=20, deadline=None)
@given(positions)
def test_labels_of_a_few_points_never_overlap(points):
    fig, axes = style.figure()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    fig.canvas.draw()
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    labels.annotate(axes, [f"label {n}" for n in range(len(points))], xs, ys)
    boxes = [text.get_window_extent() for text in axes.texts]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize("core", [NEURONCORE_V2, NEURONCORE_V3])
def test_a_chip_is_drawn_from_its_data(core):
    chart = plots.chip(core)
    drawn = " ".join(text.get_text() for text in chart.figure.axes[0].texts)
    for engine in core.engines.values():
        assert f"{engine.name}  {engine.clock_hz / 1e9:g} GHz" in drawn
    assert f"{core.sbuf_bytes / 2**20:.0f} MiB" in drawn
    assert ("never both" in drawn) == core.vector_gpsimd_share_sbuf
    assert core.name in chart.alt


def test_tiles_say_how_much_of_sbuf_they_take():
    chart = plots.sbuf({"half": (128, 96 * 1024)}, NEURONCORE_V2)
    assert "50% of each partition" in chart.alt


def test_a_dma_curve_has_the_published_thresholds():
    chart = plots.efficiency(NEURONCORE_V2, {"model": ([256, 4096], [10, 90])})
    drawn = " ".join(text.get_text() for text in chart.figure.axes[0].texts)
    assert drawn.count("(published)") == 3
    assert "90 GB/s at 4096" in chart.alt


def test_a_timeline_has_a_row_for_each_engine_that_works(prediction):
    chart = plots.gantt({"kernel": prediction.slow})
    ticks = [label.get_text() for label in chart.figure.axes[0].get_yticklabels()]
    assert ticks == ["DMA", "Vector", "Scalar"]
    assert f"{prediction.slow.total * 1e6:.4g} µs" in chart.alt
    assert "redicted" in chart.alt


def test_every_job_is_a_bar(prediction):
    axes = plots.gantt({"kernel": prediction.slow}).figure.axes[0]
    bars = sum(len(collection.get_paths()) for collection in axes.collections)
    assert bars == len(prediction.slow.cores[0])


def test_a_window_without_work_is_empty_and_not_an_error(prediction):
    axes = plots.gantt({"k": prediction.slow}, window=(1e6, 2e6)).figure.axes[0]
    assert axes.get_xlim() == (1e6, 2e6)
    assert not axes.collections


def test_versions_label_predicted_and_published(prediction):
    chart = plots.versions(
        {"mine": prediction}, published={"theirs": 1e-3}, floors={"bytes": 1e-6}
    )
    ticks = [label.get_text() for label in chart.figure.axes[0].get_yticklabels()]
    assert ticks == ["mine (predicted)", "theirs (published)"]
    assert "theirs 1000 µs (published)" in chart.alt


def test_a_search_points_at_the_best_size(prediction):
    chart = plots.search([128, 256], [prediction, prediction], xlabel="boxes a tile")
    assert "Best at 128" in chart.alt


def test_agreement_says_median_and_largest_error():
    compared = [
        Comparison(case, 0.9 * case.published, 0.9 * case.published, False, None)
        for case in HEADLINES
    ]
    chart = plots.agreement(compared)
    assert "median error is 10%, the largest 10%" in chart.alt


def test_the_same_figure_gives_the_same_bytes(prediction):
    one, other = (plots.gantt({"kernel": prediction.slow}).svg() for _ in range(2))
    assert one == other

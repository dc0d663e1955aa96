"""The operator of notebook 05, loaded from its cells."""

import numpy as np
import pytest
import torch

from helpers import cells
from neuronsim import gpsimd

NOTEBOOK = "05_cpp_giou_operator"


def text(tag: str, name: str | None = None, **names) -> str:
    return getattr(cells.load(NOTEBOOK, tag, **names), name or tag)


loaded = cells.load(NOTEBOOK, "random_pairs", torch=torch)
TOLERANCE = loaded.names["TOLERANCE"]


@pytest.fixture(scope="session")
def operator(tmp_path_factory):
    """Build a version of the operator; each text is built once."""
    folder = tmp_path_factory.mktemp("giou")
    (folder / "giou_pair.h").write_text(text("giou_pair"))
    (folder / "shape.cpp").write_text(text("giou_shape"))
    built = {}

    def load(kernel, sanitize=True):
        if kernel not in built:
            source = folder / f"giou{len(built)}.cpp"
            source.write_text(kernel)
            built[kernel] = gpsimd.load(
                name=source.stem,
                compute_srcs=[source],
                shape_srcs=[folder / "shape.cpp"],
                build_directory=folder,
                multicore=True,
            )
        built[kernel].sanitize = sanitize
        return built[kernel]

    return load


def versions() -> dict[str, str]:
    """The draft and its three repairs, as the cells make them."""
    draft = text("giou_draft")
    fixed = text("fix_offsets", "fixed", giou_draft=draft)
    freed = text("fix_leak", "freed", fixed=fixed)
    complete = text("fix_remainder", "complete", freed=freed)
    return {"draft": draft, "fixed": fixed, "freed": freed, "complete": complete}


def report_of(library, samples, boxes):
    pair = loaded.random_pairs(samples, boxes, 1)
    output = library.run("giou", pair)
    return library.report, (output - reference(*pair)).abs().max()


def reference(one, two):
    return torch.from_numpy(loaded.names["giou_reference"](one.numpy(), two.numpy()))


@pytest.mark.parametrize("samples", [1, 2, 7, 8, 9, 63, 100, 1023, 1024, 1025, 2000])
def test_the_kernel_equals_float64_for_any_number_of_samples(operator, samples):
    library = operator(text("giou_kernel"))
    assert report_of(library, samples, 37)[1] < TOLERANCE


@pytest.mark.parametrize("boxes", [1, 3, 448, 449, 5000])
def test_the_kernel_takes_rows_of_any_length(operator, boxes):
    report, error = report_of(operator(text("giou_kernel")), 11, boxes)
    assert error < TOLERANCE
    assert report.counters[0].tcm_peak <= 16 * 1024


def test_degenerate_boxes_score_as_in_float64(operator):
    special = np.array(list(loaded.names["DEGENERATE"].values()), np.float32)
    pair = [torch.from_numpy(special[:, None, k].copy()) for k in (0, 1)]
    output = operator(text("giou_kernel")).run("giou", pair)
    assert (output - reference(*pair)).abs().max() < TOLERANCE


def test_identical_and_distant_boxes_have_their_known_scores(operator):
    box = torch.tensor([[[0.0, 0.0, 10.0, 10.0]]])
    library = operator(text("giou_kernel"))
    assert library.run("giou", [box, box]).item() == pytest.approx(1.0)
    # 100 + 100 of a hull of 30 x 10 are covered
    apart = library.run("giou", [box, box + torch.tensor([20.0, 0, 20, 0])])
    assert apart.item() == pytest.approx(-1 / 3)


def test_the_slip_of_the_article_leaves_seven_eighths_unwritten(operator):
    library = operator(versions()["draft"], sanitize="report")
    report, _ = report_of(library, 1024, 256)
    assert (report.coverage.written, report.coverage.twice) == (33_664, 33_408)
    assert report.kinds() == {"never-written", "written-twice", "leak"}


@pytest.mark.parametrize(
    ("version", "samples", "kinds"),
    [
        ("fixed", 64, {"leak"}),
        ("freed", 64, set()),
        ("freed", 63, {"never-written"}),
        ("complete", 63, set()),
        ("complete", 3, set()),
    ],
)
def test_each_repair_removes_its_finding(operator, version, samples, kinds):
    library = operator(versions()[version], sanitize="report")
    assert report_of(library, samples, 20)[0].kinds() == kinds


def test_the_split_of_awss_tutorial_is_found_unless_8_divides_the_pairs(operator):
    names = {"giou_kernel": text("giou_kernel")}
    with_split = text("with_split", **names, **vars(loaded))
    lines = cells.load(NOTEBOOK, "exercise:last_core").last_core
    library = operator(with_split(lines.replace("...", "share * get_cpu_id()")))
    library.sanitize = "report"
    assert report_of(library, 16, 59)[0].kinds() == set()
    assert report_of(library, 17, 59)[0].kinds() >= {"out-of-bounds", "never-written"}


def test_a_row_beyond_the_pool_is_found_and_not_a_dead_process(operator):
    library = operator(versions()["complete"])
    with pytest.raises(gpsimd.SanitizerError, match="returned null"):
        report_of(library, 16, 600)


def test_the_shape_function_refuses_boxes_that_do_not_match(operator):
    library = operator(text("giou_kernel"))
    with pytest.raises(gpsimd.ArgumentError, match="the same shape"):
        library.run("giou", [torch.zeros(2, 3, 4), torch.zeros(2, 4, 4)])
    boxes = torch.zeros(2, 3, 4, dtype=torch.int32)
    with pytest.raises(gpsimd.ArgumentError, match="float32"):
        library.run("giou", [boxes, boxes])

"""The map of the series, and the README's pictures."""

import re

import nbformat

from helpers import cells, gallery, series, status
from helpers.status import NotebookStatus, RunStatus


def test_the_map_lists_every_notebook_of_the_folder():
    names = [path.stem for path in sorted(cells.NOTEBOOKS.glob("*.ipynb"))]
    assert [book.name for book in series.notebooks()] == names
    assert list(series.table().index) == names
    assert all(book.minutes["quick"] > 0 for book in series.notebooks())


def executed(path, *svgs):
    path.parent.mkdir(parents=True)
    book = nbformat.v4.new_notebook()
    for svg in svgs:
        data = {"image/svg+xml": svg, "text/plain": "a figure"}
        output = nbformat.v4.new_output("display_data", data=data)
        book.cells.append(nbformat.v4.new_code_cell("draw()", outputs=[output]))
    nbformat.write(book, path)


def test_pictures_come_from_the_run_and_a_missing_one_is_said(tmp_path):
    for name, *svgs in (
        ("09_graviton_batching", "<svg>curve</svg>", "<svg>other</svg>"),
        ("04_nki_giou_optimised", "<svg>first</svg>"),
    ):
        executed(tmp_path / "run" / name / f"{name}.ipynb", *svgs)
    written, missing = gallery.copy(tmp_path / "run", tmp_path / "gallery")
    assert [path.name for path in written] == ["batching.svg"]
    assert written[0].read_text() == "<svg>curve</svg>"
    assert [text.partition(":")[0] for text in missing] == [
        "kernels.svg",
        "roofline.svg",
        "ladder.svg",
    ]
    assert "figure 4 of 04_nki_giou_optimised" in missing[0]
    assert "has 1 figures" in missing[0]


def test_every_picture_names_a_notebook_of_the_series_and_is_in_the_readme():
    known = {book.name for book in series.notebooks()}
    assert {notebook for notebook, _ in gallery.PICTURES.values()} <= known
    readme = (gallery.ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\(gallery/([^)]+)\)", readme)
    assert sorted(shown) == sorted(gallery.PICTURES)
    assert all((gallery.ROOT / "gallery" / name).is_file() for name in shown)


def test_the_learning_paths_lead_through_notebooks_that_are_there():
    names = [path.stem for path in sorted(cells.NOTEBOOKS.glob("*.ipynb"))]
    paths = {path.who: path.notebooks for path in series.paths()}
    assert list(paths) == ["an inf2", "a c8g", "only a laptop", "ten minutes"]
    assert all(books[0].name == names[0] for books in paths.values())
    assert [book.name for book in paths["only a laptop"]] == names
    assert all("inf2" in book.runs_on for book in paths["an inf2"])
    assert sum(book.quick for book in paths["ten minutes"]) <= 10


def test_minutes_are_those_of_the_last_quick_run_that_passed(tmp_path):
    def ran(id, verdict, seconds):
        book = NotebookStatus("02_x", "x", "", {}, status=verdict, seconds=seconds)
        run = RunStatus(id, "quick", {}, 1.0, "", {}, notebooks=[book])
        (tmp_path / id).mkdir()
        status.save(tmp_path / id, run)

    ran("2026-01-01T00-00-00-quick", "passed", 60.0)
    ran("2026-01-02T00-00-00-quick", "passed", 120.0)
    ran("2026-01-03T00-00-00-quick", "failed", 1.0)
    ran("2026-01-04T00-00-00-smoke", "passed", 2.0)
    (tmp_path / "2026-01-05T00-00-00-quick").mkdir()
    (tmp_path / "2026-01-05T00-00-00-quick" / status.FILE).write_text("{")
    assert series.last_minutes(tmp_path) == {"02_x": 2.0}


def test_the_vocabulary_is_the_table_of_the_first_notebook():
    words = dict(series.vocabulary())
    assert words["sample"] == "the time of one call of the measured function"
    assert {"measured", "predicted", "published", "chip", "engine", "runtime"} <= {
        *words
    }
    assert "word" not in words

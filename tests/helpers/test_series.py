"""The map of the series, and the README's pictures."""

import nbformat

from helpers import cells, gallery, series


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


def test_pictures_come_from_the_run_and_are_missing_where_it_has_none(tmp_path):
    name = "09_graviton_batching"
    executed(tmp_path / "run" / name / f"{name}.ipynb", "<svg>curve</svg>")
    written = gallery.copy(tmp_path / "run", tmp_path / "gallery")
    assert [path.name for path in written] == ["batching.svg"]
    assert written[0].read_text() == "<svg>curve</svg>"


def test_every_picture_names_a_notebook_of_the_series():
    known = {book.name for book in series.notebooks()}
    assert {notebook for notebook, _ in gallery.PICTURES.values()} <= known

import inspect
import pickle
import subprocess
import sys
import traceback

import cloudpickle
import nbformat
import pytest

from helpers import cells

KERNEL = '''\
"""A cell."""
SCALE = 3


def triple(x):
    return np.float32(SCALE) * x
'''


@pytest.fixture
def notebook(tmp_path):
    def tagged(code, *tags):
        return nbformat.v4.new_code_cell(code, metadata={"tags": list(tags)})

    path = tmp_path / "02_demo.ipynb"
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# 02 · Demo"),
            tagged("profile = 'quick'", "parameters"),
            tagged(KERNEL, "source:triple"),
            tagged("def broken():\n    return 1 / 0", "source:broken"),
            tagged("x = ...", "exercise:one"),
            tagged("a = 1", "source:twice"),
            tagged("a = 2", "source:twice"),
        ]
    )
    nbformat.write(book, path)
    return path


def test_a_cell_is_loaded_with_the_names_it_needs(notebook):
    import numpy as np

    loaded = cells.load(notebook, "triple", np=np)
    assert loaded.triple(2) == 6
    assert loaded.SCALE == 3


def test_several_cells_share_one_namespace_in_their_order(notebook):
    both = cells.load(notebook, "broken", "triple")
    assert both.broken.__globals__ is both.triple.__globals__
    assert both.triple.__code__.co_filename.endswith("triple.py")


def test_two_loads_share_nothing(notebook):
    first, second = (cells.load(notebook, "triple") for _ in range(2))
    assert first.triple is not second.triple
    assert first.triple.__globals__ is not second.triple.__globals__


def test_the_source_of_a_loaded_function_can_be_read(notebook):
    loaded = cells.load(notebook, "triple")
    assert inspect.getsource(loaded.triple).startswith("def triple(x):")
    assert inspect.getsourcelines(loaded.triple)[1] == 5


def test_a_traceback_shows_the_line_of_the_cell(notebook):
    broken = cells.load(notebook, "broken").broken
    with pytest.raises(ZeroDivisionError) as caught:
        broken()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.lineno, last.line) == (2, "return 1 / 0")
    assert last.filename.endswith("02_demo/broken.py")


def test_a_loaded_function_travels_to_another_process(notebook, tmp_path):
    import numpy as np

    loaded = cells.load(notebook, "triple", np=np)
    (tmp_path / "f.pickle").write_bytes(cloudpickle.dumps(loaded.triple))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))(5))"
    there = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "f.pickle"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.strip() == "15.0"
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(loaded.triple)  # why cloudpickle is needed


def test_the_text_and_the_list_of_tags_are_available(notebook):
    assert cells.source(notebook, "triple") == KERNEL.rstrip("\n") + "\n"
    assert cells.source(notebook, "exercise:one") == "x = ..."
    assert cells.tags(notebook) == ["triple", "broken", "twice", "twice"]
    assert cells.tags(notebook, "exercise") == ["one"]


def test_a_missing_tag_lists_those_that_exist(notebook):
    with pytest.raises(LookupError, match=r"'source:nothing'.*triple, broken"):
        cells.load(notebook, "nothing")


def test_a_tag_on_two_cells_is_an_error(notebook):
    with pytest.raises(LookupError, match="2 cells"):
        cells.source(notebook, "twice")


def test_a_missing_notebook_is_named():
    with pytest.raises(LookupError, match=r"no notebook 99_nothing\.ipynb"):
        cells.load("99_nothing", "x")

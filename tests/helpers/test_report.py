import base64
import html
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from helpers import pages, report, status
from helpers.mathml import mathml
from helpers.status import NotebookStatus, RunError, RunStatus

EVIL = "<script>alert(1)</script>"
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0h9v9'/></svg>"
ALT = 'Eager gives 12 images/s & "compiled" <30>.'


def result(data, metadata=None):
    return new_output("execute_result", data=data, metadata=metadata or {})


def cell(source, *outputs, state="completed"):
    made = new_code_cell(source, outputs=list(outputs))
    made.metadata["papermill"] = {"status": state}
    return made


def failed_cell():
    trace = ["\x1b[31mIndexError\x1b[0m", f"list index {EVIL}"]
    error = new_output("error", ename="IndexError", evalue=EVIL, traceback=trace)
    return cell(f"values[10]  # {EVIL} ``` ``````````````", error, state="failed")


GOOD_CELLS = [
    new_markdown_cell(
        "# 01 · Good\n\nYou will be able to\n\n- read $a^2$\n\n$$\\frac{1}{2}$$"
    ),
    cell("chart", result({"image/svg+xml": SVG}, {"image/svg+xml": {"alt": ALT}})),
    cell("png", result({"image/png": base64.b64encode(b"\x89PNG").decode()})),
    cell("bad png", result({"image/png": "%%%not base64"})),
    cell(
        "html", result({"text/html": f"<b onclick='x'>kept</b>{EVIL}<img src=//e.e/x>"})
    ),
    cell("markdown", result({"text/markdown": f"**bold** {EVIL}"})),
    cell("script", result({"application/javascript": "alert(1)", "text/plain": EVIL})),
    cell("text", new_output("stream", text=f"\x1b[32mok\x1b[0m {EVIL} \x00 \ud800")),
    cell("long", new_output("stream", text="z" * 1_000_000)),
    new_markdown_cell(
        "<details><summary>Solution</summary>\n\n```python\nx = 1\n```\n\n</details>"
    ),
]
BAD_CELLS = [
    new_markdown_cell("# 02 · Bad\n\nText."),
    failed_cell(),
    cell("never = 1", state="pending"),
]


def entry(name, **fields):
    return NotebookStatus(
        name=name,
        title=f"{name[:2]} · A {name[3:]} one",
        path="",
        parameters={},
        **fields,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of a run with one good, one bad and one skipped notebook."""
    folder = tmp_path_factory.mktemp("run")
    for name, cells in (("01_good", GOOD_CELLS), ("02_bad", BAD_CELLS)):
        (folder / name).mkdir()
        book = nbformat.v4.new_notebook(cells=cells)
        text = nbformat.writes(book).encode("utf-8", "backslashreplace")
        (folder / name / f"{name}.ipynb").write_bytes(text)
        (folder / name / "race.json").write_text("{}")
    run = RunStatus(
        id="r",
        profile="quick",
        parameters={},
        deadline=1.0,
        started="2026-11-30T22:50:04+00:00",
        machine={"chip": "x86-64", "name": EVIL, "versions": {"numpy": "2"}},
        state="finished",
        notebooks=[
            entry("01_good", status="passed", seconds=61.0, expected=50.0),
            entry("02_bad", status="failed", reason=f"cell 2: {EVIL}", failing_cell=1),
            entry("03_needs", status="skipped", reason="needs x, not installed here"),
        ],
    )
    run.notebooks[2].title = f"03 {EVIL} ``` ``````````````````"
    status.save(folder, run)
    return report.build(folder).parent


def page(site, name):
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_no_page_loads_anything_from_outside(site):
    assert len(list(site.glob("*.html"))) >= 3
    assert report.outside_requests(site) == {}


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://cdn.example/x.js">',
        "<script async src=//cdn.example/x.js>",
        "<link rel='stylesheet' href='http://e.example/a.css'>",
        '<img alt="a" src="https://e.example/a.png">',
    ],
)
def test_a_request_to_the_outside_would_be_found(tmp_path, tag):
    (tmp_path / "a.html").write_text(f"<p>{tag}</p>")
    assert list(report.outside_requests(tmp_path)) == ["a.html"]


def test_alt_text_reaches_the_page(site):
    alts = re.findall(
        r'<img class="dark-light" src="([^"]+)" alt="([^"]*)"', page(site, "01_good")
    )
    assert alts[0] == (
        "figures/01_good-1.svg",
        "Eager gives 12 images/s &amp; &quot;compiled&quot; &lt;30&gt;.",
    )
    assert alts[1][1] == "A figure without a description, made by cell 3"
    assert (site / alts[0][0]).read_text() == SVG


def test_an_image_that_cannot_be_read_is_said(site):
    assert "an image that cannot be read" in page(site, "01_good")


def test_the_main_chart_is_on_the_first_page(site):
    index = page(site, "index")
    assert 'src="figures/01_good-1.svg"' in index
    assert f'alt="{ALT}"' in html.unescape(index)
    assert "&lt;30&gt;" in index


@pytest.mark.parametrize("name", ["index", "01_good", "02_bad"])
def test_what_a_run_says_is_escaped(site, name):
    text = page(site, name)
    assert EVIL not in text
    assert "onclick" not in text
    assert "//e.e/x" not in text.replace("&lt;img src=//e.e/x", "")
    assert "alert(1)" in text  # it is shown, as text


def test_text_of_a_run_is_cut_and_cleaned(site):
    text = page(site, "01_good")
    assert "z" * 20_001 not in text
    assert "more characters are in the notebook" in text
    assert "\x00" not in text
    assert "\x1b" not in text


def test_formulas_are_mathml_without_script(site):
    text = page(site, "01_good")
    assert text.count("<math ") == 2
    assert "<mfrac>" in text
    assert not re.search("<script[^>]*mathjax", text, re.IGNORECASE)


def test_a_formula_that_cannot_be_converted_is_shown_as_typed():
    assert mathml("\\left( <b>", "inline") == "<code>\\left( &lt;b&gt;</code>"


def test_the_index_gives_verdict_duration_and_reason(site):
    text = re.sub(r"<[^>]+>", " ", page(site, "index"))
    text = " ".join(text.split())
    assert "✗ 1 passed, 1 failed, 1 skipped" in text
    assert "01 · A good one ✓ passed 1 min 1 s 50 s" in text
    assert "– skipped needs x, not installed here" in text
    assert "Chip x86-64" in text


def test_a_failed_notebook_shows_its_failing_cell_first(site):
    text = page(site, "02_bad")
    first = text.index("values[10]")
    assert text.index("02 · Bad</h1>" if "02 · Bad</h1>" in text else "<h1>") < first
    assert first < text.index("<p>Text.</p>")
    assert first < text.index("IndexError") < text.index("<p>Text.</p>")
    assert text.index("The cells from here on never ran") < text.rindex("never")


def test_executed_notebooks_and_results_can_be_downloaded(site):
    for name in ("01_good", "02_bad"):
        assert f'href="downloads/{name}/{name}.ipynb"' in page(site, name)
        assert (site / "downloads" / name / f"{name}.ipynb").is_file()
        assert (site / "downloads" / name / "race.json").is_file()


def test_solutions_are_folded(site):
    text = page(site, "01_good")
    details = text[text.index("<details>") : text.index("</details>")]
    assert "<summary>Solution</summary>" in details
    assert "highlight" in details


def test_a_folder_without_run_is_one_clear_error(tmp_path):
    with pytest.raises(RunError, match="holds no run"):
        report.build(tmp_path)


def test_a_partial_run_has_a_site(tmp_path):
    run = RunStatus("r", "quick", {}, 1.0, "2026-11-30T22:50:04", machine={})
    run.notebooks = [entry("01_never")]
    status.save(tmp_path, run)
    text = report.build(tmp_path).read_text(encoding="utf-8")
    assert "1 not run (interrupted)" in text


def test_harmless_keeps_tables():
    table = "<table class='dataframe'><tr><th scope='row'>a</th></tr></table>"
    assert "dataframe" in pages.harmless(table)
    assert "<th scope=" in pages.harmless(table)

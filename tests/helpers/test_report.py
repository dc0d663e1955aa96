"""The site of a run: complete, offline, and safe whatever the run says."""

import re

import made_run
import pytest
from bs4 import BeautifulSoup
from made_run import ALT, EVIL, SVG

from helpers import front, ladders, pages, report, safe, status
from helpers.mathml import mathml
from helpers.pages import Source
from helpers.status import RunError, RunStatus


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of a run with one good, one bad and one skipped notebook."""
    return report.build(made_run.write(tmp_path_factory.mktemp("run"))).parent


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


def test_what_a_run_says_directs_nothing(site):
    """No file of this machine gets into the site, by directive or by role."""
    body = page(site, "01_good")
    assert "root:x:" not in body
    assert not [path for path in site.rglob("*passwd*")]
    assert '<p id="raw"' not in body
    assert "/etc/passwd" in body  # shown as the words they are


def test_an_image_that_cannot_be_read_is_said(site):
    assert "an image that cannot be read" in page(site, "01_good")


def test_the_first_page_has_both_ladders_or_says_why_not(site):
    index = page(site, "index")
    assert 'src="figures/ladder-resnet-50-1.svg"' in index
    drawn = (site / "figures" / "ladder-resnet-50-1.svg").read_text()
    assert len(drawn) < 1_000_000
    alt = re.search(r'ladder-resnet-50-1.svg" alt="([^"]*)"', index)[1]
    assert "measured on" in alt
    assert "Published on another machine" in alt
    assert "$x_" in alt
    assert "No notebook of this run raced ViT" in index


def test_a_result_that_cannot_be_read_is_said(site):
    assert "02_bad/cut.race.json: the file is not a complete" in page(site, "index")


def test_the_first_page_has_the_kernel_table(site):
    index = page(site, "index")
    assert index.index("The kernels") < index.index("<td>predicted")
    assert "<th></th>" not in index


def test_the_ladder_of_the_results_notebook_is_preferred(tmp_path):
    sources = []
    for name, model, steps in (
        ("10_memory", "vit", ("eager", "a", "b")),
        ("16_graviton_results", "vit", ("eager", "c")),
        ("16_graviton_results", "resnet18_64px", ("eager", "d")),
        ("11_compile", "resnet50", ("eager", "e")),
    ):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        made_run.save_race(folder, model, made_run.race(model, *steps))
        sources.append(Source(made_run.entry(name), folder, {}))
    found, problems = ladders.find(sources)
    assert [(ladder.family, ladder.notebook) for ladder in found] == [
        ("ResNet-50", "16_graviton_results"),
        ("ViT", "16_graviton_results"),
    ]
    assert "Published" not in found[0].chart.alt  # not of the small stand-in
    assert problems == []


@pytest.mark.parametrize("name", ["index", "01_good", "02_bad"])
def test_what_a_run_says_is_escaped(site, name):
    text = page(site, name)
    assert EVIL not in text
    assert "onclick" not in text
    assert not re.search("<[^>]*//e.e/", text)
    assert "alert(1)" in text  # it is shown, as text


def test_text_of_a_run_is_cut_and_cleaned(site):
    text = page(site, "01_good")
    assert "z" * 20_001 not in text
    assert "more characters are in the notebook" in text
    assert "\x00" not in text
    assert "\x1b" not in text


def test_html_in_markdown_is_harmless_and_code_is_untouched(site):
    text = page(site, "01_good")
    body = text[
        text.index(
            "From Markdown</h2>" if "From Markdown</h2>" in text else "From Markdown<a"
        ) :
    ]
    assert "&lt;script>alert(1)&lt;/script>" in body
    assert "&lt;img src=" in body
    assert "<iframe" not in body
    assert "onclick" not in body
    assert "<b>bold</b>" in body
    assert "an image that is not here: a photo" in body
    assert "&lt;kept&gt;" in body
    assert "<details open>" in body


def test_formulas_are_mathml_without_script(site):
    text = page(site, "01_good")
    assert text.count("<math ") == 3
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
        assert (site / "downloads" / name / "numbers.json").is_file()
        assert f'href="downloads/{name}/numbers.json"' in page(site, name)


def test_solutions_are_folded(site):
    text = page(site, "01_good")
    details = text[text.index("<details open>") : text.index("</details>")]
    assert "<summary>Solution</summary>" in details
    assert "highlight" in details


def test_a_folder_without_run_is_one_clear_error(tmp_path):
    with pytest.raises(RunError, match="holds no run"):
        report.build(tmp_path)


def test_a_partial_run_has_a_site(tmp_path):
    run = RunStatus("r", "quick", {}, 1.0, "2026-11-30T22:50:04", machine={})
    run.notebooks = [made_run.entry("01_never")]
    status.save(tmp_path, run)
    text = report.build(tmp_path).read_text(encoding="utf-8")
    assert "1 not run (interrupted)" in text


def test_harmless_keeps_tables():
    table = "<table class='dataframe'><tr><th scope='row'>a</th></tr></table>"
    assert "dataframe" in safe.harmless(table)
    assert "<th scope=" in safe.harmless(table)


def test_a_site_of_two_machines_says_which_is_whose(tmp_path):
    run = RunStatus("r", "quick", {}, 1.0, "2026-11-30T22:50:04", machine={})
    names, chips = ("01_good", "07_other"), ("inferentia2", "graviton4")
    sources = [
        Source(made_run.entry(name), tmp_path, {"chip": chip, "cores": 4})
        for name, chip in zip(names, chips, strict=True)
    ]
    shown, figures = dict.fromkeys(names), pages.Figures(tmp_path, "figures")
    index = front.write(run, sources, shown, figures)["index"]
    assert "on inferentia2, 4 cores; graviton4, 4 cores" in " ".join(index.split())
    assert index.index("Notebooks 01:") < index.index("<td>inferentia2</td>")
    assert index.index("Notebooks 07:") < index.index("<td>graviton4</td>")


def test_one_file_a_notebook_needs_no_other_file(site):
    path, other = report.single_files(site / "index.html")
    assert (path.name, other.name) == ("01_good.html", "02_bad.html")
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    images = soup.select("article img")
    assert images[0]["alt"] == ALT
    assert images[0]["src"].startswith("data:image/svg+xml;base64,")
    loads = [tag.get("src") or tag.get("href") for tag in soup.select("[src], link")]
    assert all(address.startswith("data:") for address in loads)
    styles = "".join(style.text for style in soup.select("style"))
    assert "--pst-color" in styles
    assert not re.search(r"url\((?!['\"]?(data:|#))|@import", styles)
    assert [a["href"] for a in soup.select("a[href]") if a["href"][0] != "#"] == []
    assert [script for script in soup.select("script") if "alert" in script.text] == []

"""A run's site in a real browser, opened by its file: offline, clean, for everybody."""

import shutil
from pathlib import Path

import made_run
import pytest
from axe_playwright_python.sync_playwright import Axe

from helpers import report

LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {
        "color_scheme": "light",
        "viewport": {"width": 390, "height": 844},
        "is_mobile": True,
        "has_touch": True,
    },
}
PAGES = ("index", "01_good", "02_bad", "glossary", "search")
SEEN = [("light", name) for name in PAGES]
SEEN += [(look, name) for look in ("dark", "phone") for name in PAGES[:2]]
# axe's own loading of style sheets is what a file may not do
AXE = {"resultTypes": ["violations"], "preload": False}


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site of a run whose files say the worst."""
    return report.build(made_run.write(tmp_path_factory.mktemp("run"))).parent


@pytest.fixture(params=SEEN, ids="-".join)
def opened(request, chromium, site, watched):
    look, name = request.param
    context = chromium.new_context(**LOOKS[look])
    context.set_default_timeout(20_000)
    yield watched(context, site / f"{name}.html")
    context.close()


@pytest.fixture
def desk(chromium, site, watched):
    """A function: name of a page -> the page on a desk, in light."""
    context = chromium.new_context(**LOOKS["light"])
    context.set_default_timeout(20_000)
    yield lambda name: watched(context, site / f"{name}.html")
    context.close()


def faults(page) -> list[tuple]:
    found = Axe().run(page, options=AXE).response["violations"]
    return [
        (rule["id"], rule["nodes"][0]["target"], rule["nodes"][0]["html"][:200])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


def test_a_page_is_offline_quiet_accessible_and_fits(opened, site):
    page = opened.page
    assert opened.requests
    assert opened.outside(site) == []
    assert opened.errors == []
    assert faults(page) == []
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


def test_a_page_follows_the_preference_for_dark(chromium, site, watched):
    colours = {}
    for look in ("light", "dark"):
        context = chromium.new_context(**LOOKS[look])
        page = watched(context, site / "index.html").page
        style = "getComputedStyle(document.body).backgroundColor"
        colours[look] = page.evaluate(style)
        context.close()
    assert colours["light"] == "rgb(255, 255, 255)"
    dark = [int(part) for part in colours["dark"][4:-1].split(",")]
    assert max(dark) < 60


def test_a_fault_would_be_found(desk, site):
    """An image without alt text and an address outside: both checks can fail."""
    opened = desk("index")
    opened.page.evaluate(
        "document.querySelector('article').insertAdjacentHTML("
        "'beforeend', '<img src=\"http://127.0.0.1:9/x.png\">')"
    )
    opened.page.wait_for_timeout(300)
    assert [fault[0] for fault in faults(opened.page)] == ["image-alt"]
    assert "http://127.0.0.1:9/x.png" in opened.outside(site)
    assert opened.errors


def test_the_search_finds_a_word_in_a_notebook(desk, site):
    opened = desk("search")
    page = opened.page
    page.goto(f"{(site / 'search.html').as_uri()}?q=kernels")
    page.wait_for_selector("#search-results a[href*='01_good']")
    assert opened.errors == []


def test_code_folds_by_keyboard_and_stays_folded_on_the_next_page(desk):
    page = desk("01_good").page
    button = page.locator("button.fold-all")
    assert page.locator(".cell_input pre").first.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    assert not page.locator(".cell_input pre").first.is_visible()
    fold = page.locator(".code-fold > summary").first
    fold.focus()
    page.keyboard.press("Enter")
    assert page.locator(".cell_input pre").first.is_visible()
    page.reload()
    assert not page.locator(".cell_input pre").first.is_visible()
    page.locator("button.fold-all").press("Enter")
    assert page.locator(".cell_input pre").first.is_visible()


def test_a_keyboard_reaches_content_search_and_the_next_page(desk):
    page = desk("01_good").page
    page.keyboard.press("Tab")
    assert (
        page.evaluate("document.activeElement.textContent").strip().startswith("Skip")
    )
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    page.locator("a.right-next").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/02_bad.html")
    assert page.locator("a.left-prev").get_attribute("href") == "01_good.html"


def test_print_shows_the_page_without_what_navigates(desk):
    page = desk("01_good").page
    page.emulate_media(media="print")
    for gone in (".bd-sidebar-primary", ".prev-next-footer", ".fold-all"):
        assert not page.locator(gone).first.is_visible(), gone
    assert page.locator("h1:visible").count() == 1
    assert page.locator("figure.chart img").first.is_visible()


def test_one_file_shows_a_notebook_alone(chromium, site, tmp_path, watched):
    alone = tmp_path / "alone"
    alone.mkdir()
    path = shutil.copy(report.single_files(site / "index.html")[0], alone)
    context = chromium.new_context(**LOOKS["dark"])
    opened = watched(context, Path(path))
    assert opened.outside(alone) == []
    assert opened.errors == []
    assert faults(opened.page) == []
    sizes = "[...document.images].map((image) => image.naturalWidth)"
    assert opened.page.evaluate(sizes)[0] > 0
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()

"""Build the HTML site of a run: ``report.build("runs/latest")`` gives its index.html.

Sphinx, myst-nb and sphinx-book-theme make the pages from the executed notebooks. The
site works from a file and loads nothing from outside.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from helpers import front, pages, safe, single, status
from helpers.pages import Source
from helpers.status import RunError, RunStatus

SITE = Path(__file__).resolve().parent / "site"
OUTSIDE = re.compile(
    r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)\s*=\s*[\"']?"
    r"((?:https?:)?//[^\"'\s>]+)",
    re.IGNORECASE,
)


def build(folder: str | Path) -> Path:
    """Build ``<run>/site`` anew and return the path of its first page.

    Raises
    ------
    RunError
        If there is no run in the folder, Sphinx fails, or a page would load
        something from outside.
    """
    folder = Path(folder).resolve()
    run = status.load(folder)
    return write(run, sources(folder, run), folder / "site")


def sources(folder: Path, run: RunStatus) -> list[Source]:
    """What there is to show of a run's notebooks, in its order."""
    return [Source(n, folder / n.name, run.machine) for n in run.notebooks]


def write(run: RunStatus, notebooks: Sequence[Source], site: Path) -> Path:
    """Write a site of notebooks, perhaps of several machines; returns its first page.

    Parameters
    ----------
    run
        What the first page says of the whole: verdict, profile, start, warnings.
    notebooks
        Their names are different: each is a page.
    site
        The folder to write; what is in it goes away when the new site is complete.
    """
    with tempfile.TemporaryDirectory(prefix="series-site-") as temporary:
        source, built = Path(temporary, "source"), Path(temporary, "site")
        _write_source(run, notebooks, source)
        _sphinx(source, built)
        _refuse_outside(built)
        shutil.rmtree(site, ignore_errors=True)
        shutil.move(built, site)
    return site / "index.html"


def single_files(index: Path) -> list[Path]:
    """From a complete site, one file a notebook to send by mail, in ``single/``."""
    site = index.parent
    to = site.parent / "single"
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    names = sorted(path.name for path in (site / "downloads").glob("*"))
    return [single.write(site / f"{name}.html", to / f"{name}.html") for name in names]


def outside_requests(site: Path) -> dict[str, list[str]]:
    """Addresses outside the site that its pages would load, by page."""
    found = {
        str(page.relative_to(site)): OUTSIDE.findall(page.read_text(encoding="utf-8"))
        for page in sorted(site.rglob("*.html"))
    }
    return {page: addresses for page, addresses in found.items() if addresses}


def _write_source(run: RunStatus, notebooks: Sequence[Source], source: Path) -> None:
    """What Sphinx reads: the first page, a notebook a page, figures and downloads."""
    drawn = source / "extra" / "figures"
    drawn.mkdir(parents=True)
    figures = pages.Figures(drawn, "figures")
    shown = {n.name: _write_page(n, source, figures) for n in notebooks}
    for name, text in front.write(run, notebooks, shown, figures).items():
        path = source / f"{name}.md"
        path.write_text(text, encoding="utf-8", errors="replace")


def _write_page(
    notebook: Source, source: Path, figures: pages.Figures
) -> dict[str, str] | None:
    """Write one notebook's page and downloads; what it offers to the first page.

    None if there is nothing to show.
    """
    try:
        text = notebook.executed.read_text(encoding="utf-8", errors="replace")
        page = pages.prepare(json.loads(text), notebook, figures)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no notebook, or half a one: the first page gives the verdict
    target = source / f"{notebook.name}.ipynb"
    target.write_text(json.dumps(page), encoding="utf-8")
    downloads = source / "extra" / "downloads" / notebook.name
    downloads.mkdir(parents=True)
    for path in notebook.downloads:
        shutil.copy(path, downloads)
    return pages.tagged(page, "index")


def _sphinx(source: Path, built: Path) -> None:
    options: list[str | Path] = ["-q", "-b", "html", "-c", SITE]
    options += ["-D", f"html_extra_path={source / 'extra'}"]
    options += ["-D", f"trusted_html={safe.TRUSTED}"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, source, built],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise RunError(f"Sphinx could not build the site:\n{done.stdout[-3000:]}")
    shutil.rmtree(built / ".doctrees", ignore_errors=True)


def _refuse_outside(built: Path) -> None:
    found = outside_requests(built)
    if found:
        page, addresses = next(iter(found.items()))
        raise RunError(f"{page} would load {addresses[0]} from outside.")

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
from pathlib import Path

import jinja2

from helpers import pages, status
from helpers.progress import duration
from helpers.status import NotebookStatus, RunError, RunStatus

SITE = Path(__file__).resolve().parent / "site"
RESULTS = (".json", ".svg", ".png", ".txt", ".csv")  # what a reader may download
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
    with tempfile.TemporaryDirectory(prefix="series-site-") as temporary:
        source, built = Path(temporary, "source"), Path(temporary, "site")
        _write_source(folder, run, source)
        _sphinx(source, built)
        _refuse_outside(built)
        shutil.rmtree(folder / "site", ignore_errors=True)
        shutil.move(built, folder / "site")
    return folder / "site" / "index.html"


def outside_requests(site: Path) -> dict[str, list[str]]:
    """Addresses outside the site that its pages would load, by page."""
    found = {
        str(page.relative_to(site)): OUTSIDE.findall(page.read_text(encoding="utf-8"))
        for page in sorted(site.rglob("*.html"))
    }
    return {page: addresses for page, addresses in found.items() if addresses}


def _write_source(folder: Path, run: RunStatus, source: Path) -> None:
    """What Sphinx reads: the index, a notebook a page, figures and downloads."""
    drawn = source / "extra" / "figures"
    drawn.mkdir(parents=True)
    figures = pages.Figures(drawn, "figures")
    written = [n.name for n in run.notebooks if _write_page(folder, n, source, figures)]
    index = _index(run, written, _main_chart(run, figures))
    (source / "index.md").write_text(index, encoding="utf-8", errors="replace")


def _write_page(
    folder: Path, notebook: NotebookStatus, source: Path, figures: pages.Figures
) -> bool:
    """Write one notebook's page and downloads; is there anything to show?"""
    executed = folder / notebook.name / f"{notebook.name}.ipynb"
    try:
        book = json.loads(executed.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return False
    page = pages.prepare(book, notebook, figures)
    target = source / f"{notebook.name}.ipynb"
    target.write_text(json.dumps(page), encoding="utf-8")
    downloads = source / "extra" / "downloads" / notebook.name
    downloads.mkdir(parents=True)
    for path in executed.parent.iterdir():
        if path.suffix in RESULTS or path == executed:
            shutil.copy(path, downloads)
    return True


def _main_chart(run: RunStatus, figures: pages.Figures) -> dict | None:
    """The first figure of a results notebook; else the first of the run."""
    titles = {notebook.name: _title(notebook) for notebook in run.notebooks}
    with_figure = [name for name in titles if name in figures.first]
    results = [name for name in with_figure if name.endswith("_results")]
    for name in results + with_figure:
        return figures.first[name] | {"title": titles[name]}
    return None


def _index(run: RunStatus, written: list[str], chart: dict | None) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in run.count().items())
    state = "" if run.state == "finished" else f" ({run.state})"
    good = run.good and run.state == "finished"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SITE),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("index.md.j2").render(
        title="AI on AWS silicon: what this run found",
        fence=jinja2.filters.Markup(pages.FENCE),
        run=run,
        kind="good" if good else "bad",
        mark="✓" if good else "✗",
        summary=f"{counts}{state}",
        started=run.started[:16].replace("T", " "),
        total=duration(sum(n.seconds or 0.0 for n in run.notebooks)),
        rows=[_row(notebook, written) for notebook in run.notebooks],
        machine=_machine_rows(run.machine),
        chart=chart,
    )


def _shown(value):
    """A run's text inside a raw block: clean, and unable to end the block."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return pages.plain(value).replace("`", "'").replace("\n", " ")


def _row(notebook: NotebookStatus, written: list[str]) -> dict:
    return {
        "page": notebook.name if notebook.name in written else "",
        "title": _title(notebook),
        "kind": pages.kind(notebook.status),
        "mark": pages.mark(notebook.status),
        "status": notebook.status,
        "took": duration(notebook.seconds),
        "expected": duration(notebook.expected),
        "reason": notebook.reason,
    }


def _title(notebook: NotebookStatus) -> str:
    """The title with the notebook's number, as its page has it."""
    number = notebook.name.partition("_")[0]
    numbered = number.isdigit() and not notebook.title.startswith(number)
    return f"{number} · {notebook.title}" if numbered else notebook.title


def _machine_rows(machine: dict) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " ").capitalize().replace("gib", "(GiB)"), _said(value))
        for name, value in machine.items()
        if value not in ("", [], {})
    ]


def _said(value) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {version}" for name, version in value.items())
        case list() | tuple():
            return ", ".join(map(str, value))
        case float():
            return f"{value:.1f}"
    return str(value)


def _sphinx(source: Path, built: Path) -> None:
    options: list[str | Path] = ["-q", "-b", "html", "-c", SITE]
    options += ["-D", f"html_extra_path={source / 'extra'}"]
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

"""Write a site's own pages: the first one, and the glossary."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from helpers import ladders, pages, safe, series, status
from helpers.pages import Source
from helpers.progress import duration
from helpers.status import NotebookStatus, RunStatus

SITE = Path(__file__).resolve().parent / "site"
TITLE = "AI on AWS silicon: what this run found"


def write(
    run: RunStatus,
    notebooks: Sequence[Source],
    shown: Mapping[str, dict[str, str] | None],
    figures: pages.Figures,
) -> dict[str, str]:
    """The Markdown of each page, by name.

    `shown` has for each notebook what it offers to the first page (the outputs of cells
    tagged ``index:<name>``), or None if it has no page.
    """
    written = [name for name, offered in shown.items() if offered is not None]
    return {
        "index": _index(run, notebooks, written, _offers(shown), figures),
        "glossary": glossary(),
    }


def glossary() -> str:
    """The vocabulary of notebook 00 as a page with a term each to link to."""
    entries = "\n\n".join(f"{word}\n: {means}" for word, means in series.vocabulary())
    return (
        "# Glossary\n\nOne word for one thing, in code, prose and figures.\n\n"
        f"```{{glossary}}\n{entries}\n```\n"
    )


def _offers(shown: Mapping[str, dict[str, str] | None]) -> dict[str, tuple[str, str]]:
    """name -> (notebook, HTML); a later notebook knows more than an earlier one."""
    return {
        name: (notebook, text)
        for notebook, offered in shown.items()
        for name, text in (offered or {}).items()
    }


def _index(run, notebooks, written, offers, figures) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in run.count().items())
    state = "" if run.state == "finished" else f" ({run.state})"
    drawn, problems = ladders.find(notebooks)
    titles = {source.name: title(source.notebook) for source in notebooks}
    return _template().render(
        title=TITLE,
        run=run,
        kind=pages.kind(_verdict(run)),
        mark=pages.mark(_verdict(run)),
        summary=f"{counts}{state}",
        started=run.started[:16].replace("T", " "),
        total=duration(sum(n.notebook.seconds or 0.0 for n in notebooks)),
        paths=_paths(notebooks, written),
        ladders=[_ladder(ladder, titles, figures) for ladder in drawn],
        problems=problems,
        kernels=[
            {
                "html": Markup(html.replace("`", "&#96;")),
                "page": page,
                "title": titles[page],
            }
            for name, (page, html) in sorted(offers.items(), reverse=True)
            if name.startswith("kernel-")
        ],
        rows=[_row(source, written) for source in notebooks],
        machines=_machines(notebooks),
        pages=[*written, "glossary"],
    )


def _verdict(run: RunStatus) -> str:
    """The word of `helpers.status` for a run as a whole."""
    if run.state == status.RUNNING:
        return status.RUNNING
    return status.PASSED if run.good and run.state == "finished" else status.FAILED


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SITE),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    begin = f"{pages.FENCE}{{raw}} html\n{safe.TRUSTED}"
    environment.globals |= {"begin": Markup(begin), "end": Markup(pages.FENCE)}
    return environment.get_template("index.md.j2")


def _shown(value):
    """A run's text inside a raw block: clean, and unable to end the block."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return safe.plain(value).replace("`", "'").replace("\n", " ")


def _ladder(ladder: ladders.Ladder, titles: dict, figures: pages.Figures) -> dict:
    image = None
    if ladder.chart:
        svg = ladder.chart.svg().encode()
        name = f"ladder-{ladder.family.lower()}"
        image = Markup(figures.keep(name, svg, "svg", ladder.chart.alt))
    return {
        "family": ladder.family,
        "image": image,
        "page": ladder.notebook,
        "title": titles.get(ladder.notebook, ""),
        "missing": ladder.missing,
    }


def _paths(notebooks: Sequence[Source], written: list[str]) -> list[dict]:
    """Each learning path with its notebooks of this series and the minutes it takes."""
    took = {n.name: n.notebook.seconds for n in notebooks if n.notebook.seconds}
    rows = []
    for path in series.paths():
        steps = [(book.name, book.name in written) for book in path.notebooks]
        known = [book for book in path.notebooks if book.name in took]
        seconds = sum(took[book.name] for book in known)
        seconds += sum(60 * b.quick for b in path.notebooks if b not in known)
        rows.append(
            {
                "who": path.who,
                "why": path.why,
                "steps": steps,
                "minutes": f"{max(1, round(seconds / 60))} min",
                "source": f"{len(known)} of {len(steps)} from this run",
            }
        )
    return rows


def _row(source: Source, written: list[str]) -> dict:
    notebook = source.notebook
    return {
        "page": notebook.name if notebook.name in written else "",
        "title": title(notebook),
        "kind": pages.kind(notebook.status),
        "mark": pages.mark(notebook.status),
        "status": notebook.status,
        "took": duration(notebook.seconds),
        "expected": duration(notebook.expected),
        "reason": notebook.reason,
    }


def title(notebook: NotebookStatus) -> str:
    """The title with the notebook's number, as its page has it."""
    number = notebook.name.partition("_")[0]
    numbered = number.isdigit() and not notebook.title.startswith(number)
    return f"{number} · {notebook.title}" if numbered else notebook.title


def _machines(notebooks: Sequence[Source]) -> list[dict]:
    """A card a machine, with the notebooks that ran on it."""
    cards: list[dict] = []
    for source in notebooks:
        rows = _machine_rows(source.machine)
        card = next((card for card in cards if card["rows"] == rows), None)
        if card is None:
            label = pages.machine_label(source.machine) or "a machine"
            cards.append(card := {"label": label, "rows": rows, "notebooks": []})
        card["notebooks"].append(source.name.partition("_")[0])
    return cards


def _machine_rows(machine: dict) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " ").capitalize().replace("gib", "(GiB)"), _said(value))
        for name, value in machine.items()
        if value not in ("", [], (), {})
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

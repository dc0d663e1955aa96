"""Turn an executed notebook into a page that is safe to show.

``pages.prepare(book, ...)`` rewrites the outputs: figures become files with their alt
text, HTML keeps harmless tags only, long text is cut, and a failed notebook begins with
its failing cell.
"""

import base64
import binascii
import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from markdown_it import MarkdownIt

from helpers.progress import duration
from helpers.safe import TRUSTED, clean, cut, harmless, plain, without_directives
from helpers.status import GOOD, NotebookStatus

FENCE = "`" * 12  # longer than any that a notebook would use
IMAGES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
MARKS = {"passed": "✓", "skipped": "–", "not run": "–", "running": "…"}

MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
RESULTS = (".json", ".svg", ".png", ".txt", ".csv")  # what a reader may download


@dataclass(frozen=True)
class Source:
    """A notebook to show: its status, where its results are, and whose they are."""

    notebook: NotebookStatus
    folder: Path  # holds <name>.ipynb as executed, log.txt and raw results
    machine: dict

    @property
    def name(self) -> str:
        return self.notebook.name

    @property
    def executed(self) -> Path:
        return self.folder / f"{self.name}.ipynb"

    @property
    def downloads(self) -> list[Path]:
        """The executed notebook and what it saved, as far as they are there."""
        found = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [p for p in found if p.suffix in RESULTS or p == self.executed]


class Figures:
    """Where the pages' figures go; they are linked by relative address."""

    def __init__(self, folder: Path, address: str):
        self._folder, self._address = folder, address
        self.first: dict[str, dict] = {}  # page -> its first figure

    def keep(self, page: str, data: bytes, suffix: str, alt: str) -> str:
        """Write the figure; returns the HTML that shows it."""
        count = len(list(self._folder.glob(f"{page}-*")))
        name = f"{page}-{count + 1}.{suffix}"
        (self._folder / name).write_bytes(data)
        src = f"{self._address}/{name}"
        self.first.setdefault(page, {"src": src, "alt": alt, "page": page})
        image = f'<img class="dark-light" src="{src}" alt="{html.escape(alt)}">'
        return f'<figure class="chart">{image}</figure>'


def prepare(book: dict, source: Source, figures: Figures) -> dict:
    """The page's notebook: same cells, safe outputs, the verdict under the title."""
    notebook = source.notebook
    for number, cell in enumerate(book["cells"], start=1):
        cell["source"] = clean("".join(cell["source"]))
        if cell["cell_type"] == "markdown":
            cell["source"] = without_directives(cell["source"])
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                _output(output, cell, number, notebook.name, figures)
                for output in cell["outputs"]
            ]
    box = _verdict_box(book, source)
    _mark_end(book["cells"])
    book["cells"] = list(_with_box(book["cells"], box))
    book["metadata"] = {"kernelspec": book["metadata"].get("kernelspec", {})}
    return book


def _mark_end(cells: list[dict]) -> None:
    """Say where the run of a notebook ended, if it ended early."""
    for index, cell in enumerate(cells):
        state = cell["metadata"].get("papermill", {}).get("status")
        if cell["cell_type"] == "code" and state == "pending":
            text = '<p class="run-box bad">The cells from here on never ran.</p>'
            cells.insert(index, _markdown(raw(text)))
            return


def tagged(book: dict, kind: str) -> dict[str, str]:
    """HTML that the cells tagged ``<kind>:<name>`` of a prepared page show, by name."""
    found = {}
    for cell in book["cells"]:
        outputs = [o.get("data", {}) for o in cell.get("outputs", [])]
        shown = [data["text/html"] for data in outputs if "text/html" in data]
        for tag in cell["metadata"].get("tags", []):
            if tag.startswith(f"{kind}:") and shown:
                text = "\n".join(shown).replace(TRUSTED, "")
                found[tag.partition(":")[2]] = text
    return found


def kind(status: str) -> str:
    """The CSS class of a verdict."""
    if status in MARKS and status != "passed":
        return "none"
    return "good" if status in GOOD else "bad"


def mark(status: str) -> str:
    return MARKS.get(status, "✗")


def raw(text: str) -> str:
    """HTML as a MyST block; no text in it can end the block."""
    return f"{FENCE}{{raw}} html\n{TRUSTED}{text.replace('`', '&#96;')}\n{FENCE}"


def _output(output: dict, cell: dict, number: int, page: str, figures: Figures) -> dict:
    match output["output_type"]:
        case "stream":
            return output | {"text": cut(clean("".join(output["text"])))}
        case "error":
            trace = cut(clean("\n".join(output["traceback"]))).split("\n")
            return output | {"traceback": trace, "evalue": plain(output["evalue"])}
    shown = _rich(output, cell, number, page, figures)
    return output | {"data": shown, "metadata": {}}


def _rich(output: dict, cell: dict, number: int, page: str, figures: Figures) -> dict:
    """The best form of a result that a page can show safely, as HTML or plain text."""
    data = {mime: _joined(value) for mime, value in output["data"].items()}
    for mime in IMAGES.keys() & data.keys():
        alt = _alt(output, mime, cell, data, number)
        try:
            content = _image(data[mime], mime)
        except (binascii.Error, ValueError):
            return {"text/plain": f"[an image that cannot be read: {alt}]"}
        image = figures.keep(page, content, IMAGES[mime], alt)
        return {"text/html": TRUSTED + image}
    if "text/html" in data:
        return {"text/html": TRUSTED + harmless(data["text/html"])}
    if "text/markdown" in data:
        text = MARKDOWN.render(data["text/markdown"])
        return {"text/html": TRUSTED + harmless(text)}
    return {"text/plain": cut(clean(data.get("text/plain", "[nothing to show]")))}


def _joined(value) -> str:
    return value if isinstance(value, str) else "".join(map(str, value))


def _image(text: str, mime: str) -> bytes:
    if mime == "image/svg+xml":
        if "<svg" not in text:
            raise ValueError("no SVG")
        return text.encode("utf-8", "replace")
    return base64.b64decode(text, validate=False)


def _alt(output: dict, mime: str, cell: dict, data: dict, number: int) -> str:
    metadata = output.get("metadata", {})
    image = cell["metadata"].get("mystnb", {}).get("image", {})
    given = metadata.get(mime, {}).get("alt") or metadata.get("alt") or image.get("alt")
    return plain(str(given or f"A figure without a description, made by cell {number}"))


def _with_box(cells: list[dict], box: str) -> Iterator[dict]:
    """The cells with the verdict right under the title."""
    first, *rest = cells or [_markdown("")]
    title, _, after = first["source"].partition("\n")
    if first["cell_type"] == "markdown" and title.startswith("# "):
        yield _markdown(title)
        yield _markdown(box)
        rest = [first | {"source": after.strip()}, *rest] if after.strip() else rest
    else:
        yield _markdown(box)
        rest = cells
    yield from rest


def _markdown(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _verdict_box(book: dict, source: Source) -> str:
    notebook = source.notebook
    look = kind(notebook.status)
    took = f" in {duration(notebook.seconds)}" if notebook.seconds is not None else ""
    reason = f": {html.escape(plain(notebook.reason))}" if notebook.reason else ""
    where = html.escape(plain(machine_label(source.machine)))
    lines = [
        f'<div class="run-box {look}">',
        f'<p><span class="verdict {look}">{mark(notebook.status)} '
        f"{html.escape(notebook.status)}</span>{took}{reason}</p>",
        *_failing_cell(book, notebook.failing_cell),
        f"<p>Run on {where}</p>" if where else "",
        *_download_links(source),
        "</div>",
    ]
    return raw("\n".join(lines))


def machine_label(machine: dict) -> str:
    """Name and chip of a run's machine, in a few words."""
    name, chip = (str(machine.get(key) or "") for key in ("name", "chip"))
    cores = f", {machine['cores']} cores" if machine.get("cores") else ""
    who = f"{name} ({chip})" if name and chip else name or chip
    return f"{who}{cores}" if who else ""


def _download_links(source: Source) -> Iterator[str]:
    links = [
        f'<a href="downloads/{quote(source.name)}/{quote(path.name)}" download>'
        f"{html.escape(_download_title(source, path))}</a>"
        for path in sorted(source.downloads, key=lambda p: p != source.executed)
    ]
    if links:
        yield f'<p class="downloads">Download: {" · ".join(links)}</p>'


def _download_title(source: Source, path: Path) -> str:
    return "executed notebook" if path == source.executed else plain(path.name)


def _failing_cell(book: dict, index: int | None) -> Iterator[str]:
    """Source and last words of the cell that failed."""
    if index is None or index >= len(book["cells"]):
        return
    cell = book["cells"][index]
    yield f"<p>Cell {index + 1}:</p>"
    yield f'<pre tabindex="0">{html.escape(cell["source"])}</pre>'
    for output in cell.get("outputs", []):
        if output["output_type"] == "error":
            trace = plain("\n".join(output["traceback"]))
            yield f'<pre tabindex="0">{html.escape(trace)}</pre>'

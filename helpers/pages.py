"""Turn an executed notebook into a page that is safe to show.

``pages.prepare(book, ...)`` rewrites the outputs: figures become files with their alt
text, HTML keeps harmless tags only, long text is cut, and a failed notebook begins with
its failing cell.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from pathlib import Path

import bleach
from bleach.css_sanitizer import CSSSanitizer
from markdown_it import MarkdownIt

from helpers.progress import duration
from helpers.status import GOOD, NotebookStatus

KEEP = 20_000  # characters of an output that a page shows
FENCE = "`" * 12  # longer than any that a notebook would use
IMAGES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
MARKS = {"passed": "✓", "skipped": "–", "not run": "–"}

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff]")
CODE_TAGS = re.compile(r"<(script|style)\b.*?(</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
TAGS = frozenset(
    (
        *("a", "b", "br", "caption", "code", "col", "colgroup", "dd", "details", "div"),
        *("dl", "dt", "em", "figcaption", "figure", "h2", "h3", "h4", "hr", "i", "li"),
        *("ol", "p", "pre", "small", "span", "strong", "sub", "summary", "sup"),
        *("table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
    )
)
ATTRIBUTES = {"*": ["class", "style", "title"], "a": ["href"], "details": ["open"]} | {
    tag: ["class", "style", "title", "scope", "colspan", "rowspan"]
    for tag in ("td", "th")
}
STYLES = CSSSanitizer()
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


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


def prepare(book: dict, notebook: NotebookStatus, figures: Figures) -> dict:
    """The page's notebook: same cells, safe outputs, the verdict under the title."""
    for number, cell in enumerate(book["cells"], start=1):
        cell["source"] = clean("".join(cell["source"]))
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                _output(output, cell, number, notebook.name, figures)
                for output in cell["outputs"]
            ]
    box = _verdict_box(book, notebook)
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


def clean(text: str) -> str:
    """Text without what a page cannot hold (control characters, half surrogates)."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def plain(text: str) -> str:
    """Clean text without colours, cut to what a page shows."""
    return _cut(clean(ANSI.sub("", text)))


def kind(status: str) -> str:
    """The CSS class of a verdict."""
    if status in MARKS and status != "passed":
        return "none"
    return "good" if status in GOOD else "bad"


def mark(status: str) -> str:
    return MARKS.get(status, "✗")


def raw(text: str) -> str:
    """HTML as a MyST block; no text in it can end the block."""
    return f"{FENCE}{{raw}} html\n{text.replace('`', '&#96;')}\n{FENCE}"


def _output(output: dict, cell: dict, number: int, page: str, figures: Figures) -> dict:
    match output["output_type"]:
        case "stream":
            return output | {"text": _cut(clean("".join(output["text"])))}
        case "error":
            trace = _cut(clean("\n".join(output["traceback"]))).split("\n")
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
        return {"text/html": figures.keep(page, content, IMAGES[mime], alt)}
    if "text/html" in data:
        return {"text/html": harmless(data["text/html"])}
    if "text/markdown" in data:
        return {"text/html": harmless(MARKDOWN.render(data["text/markdown"]))}
    return {"text/plain": _cut(clean(data.get("text/plain", "[nothing to show]")))}


def harmless(text: str) -> str:
    """HTML of a run: tables and emphasis stay, scripts and addresses do not."""
    safe = bleach.clean(
        CODE_TAGS.sub("", clean(text)),
        tags=TAGS,
        attributes=ATTRIBUTES,
        css_sanitizer=STYLES,
        protocols={"http", "https"},
        strip=True,
    )
    if len(safe) > 50 * KEEP:
        safe = f"<pre>{html.escape(_cut(safe))}</pre>"
    # one line: a blank line would end the block for a reader of Markdown
    return f'<div class="scroll" tabindex="0">{safe}</div>'


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


def _cut(text: str) -> str:
    if len(text) <= KEEP:
        return text
    left = len(text) - KEEP
    return f"{text[:KEEP]}\n[cut here; {left:,} more characters are in the notebook]"


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


def _verdict_box(book: dict, notebook: NotebookStatus) -> str:
    look = kind(notebook.status)
    took = f" in {duration(notebook.seconds)}" if notebook.seconds is not None else ""
    reason = f": {html.escape(plain(notebook.reason))}" if notebook.reason else ""
    files = f"downloads/{notebook.name}"
    lines = [
        f'<div class="run-box {look}">',
        f'<p><span class="verdict {look}">{mark(notebook.status)} {notebook.status}'
        f"</span>{took}{reason}</p>",
        *_failing_cell(book, notebook.failing_cell),
        f'<p><a href="{files}/{notebook.name}.ipynb" download>Executed notebook</a>'
        f' · <a href="{files}/log.txt" download>log</a></p>',
        "</div>",
    ]
    return raw("\n".join(lines))


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

"""Make what a run says safe to show: clean text, harmless HTML.

Also a Sphinx extension: HTML in a page's Markdown keeps harmless tags only, unless it
begins with `TRUSTED`, which `helpers.pages` writes and nobody can guess.
"""

import html
import re
import secrets

import bleach
from bleach.css_sanitizer import CSSSanitizer
from docutils import nodes
from sphinx.application import Sphinx

KEEP = 20_000  # characters of an output that a page shows
TRUSTED = f"<!-- {secrets.token_hex(16)} -->"

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
MARKUP = re.compile(r"<(/?)([a-zA-Z][\w-]*)([^<>]*)(>?)")
# MyST would obey these: include a file of this machine, or offer it for download
DIRECTIVE = re.compile(
    r"^([\s>]*(?:[-*+] +|\d+[.)] +)*(?:`{3,}|~{3,}|:{3,})\s*)(?=\{)", re.MULTILINE
)
ROLE = re.compile(r"(?=\{[\w:.+-]+\}`)")
EMPTY_HEAD = re.compile(r"<th(?: [^<>]*)?>\s*</th>")
STYLES = CSSSanitizer()


def setup(app: Sphinx) -> dict:
    app.add_config_value("trusted_html", "", "env")
    app.connect("doctree-read", _guard)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def clean(text: str) -> str:
    """Text without what a page cannot hold (control characters, half surrogates)."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def without_directives(text: str) -> str:
    """Markdown whose MyST directives are blocks of text, and whose roles are words."""
    return ROLE.sub(r"\\", DIRECTIVE.sub(r"\1text ", text))


def plain(text: str) -> str:
    """Clean text without colours, cut to what a page shows."""
    return cut(clean(ANSI.sub("", text)))


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
        safe = f"<pre>{html.escape(cut(safe))}</pre>"
    safe = EMPTY_HEAD.sub("<td></td>", safe)  # a heading without words is none
    # one line: a blank line would end the block for a reader of Markdown
    return f'<div class="scroll" tabindex="0">{safe}</div>'


def cut(text: str) -> str:
    """The beginning of a long text, and how much is missing."""
    if len(text) <= KEEP:
        return text
    left = len(text) - KEEP
    return f"{text[:KEEP]}\n[cut here; {left:,} more characters are in the notebook]"


def harmless_tags(text: str) -> str:
    """A piece of HTML: harmless tags stay without attributes, others become text."""
    return MARKUP.sub(_harmless_tag, text)


def _harmless_tag(match: re.Match) -> str:
    end, name, attributes, closed = match.groups()
    if name.lower() not in TAGS or not closed:
        return match[0].replace("<", "&lt;")
    is_open = " open" if re.search(r"\bopen\b", attributes) else ""
    return f"<{end}{name}{is_open}>"


def _guard(app: Sphinx, doctree: nodes.document) -> None:
    """Make a page's HTML harmless; a site's figures are outputs, never Markdown's."""
    trusted = app.config.trusted_html or TRUSTED
    for node in list(doctree.findall(nodes.raw)):
        text = node.astext()
        if text.startswith(trusted):
            safe = text.removeprefix(trusted)
        else:
            safe = harmless_tags(text)
        node.replace_self(nodes.raw("", safe, format=node.get("format", "html")))
    for image in list(doctree.findall(nodes.image)):
        words = image.get("alt") or image.get("uri", "")
        image.replace_self(nodes.Text(f"[an image that is not here: {words}]"))

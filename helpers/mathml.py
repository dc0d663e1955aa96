"""A Sphinx extension that writes formulas as MathML: no script, no network.

Use: ``extensions = ["helpers.mathml"]; html_math_renderer = "mathml"`` in conf.py.
"""

import html

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer, node) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def _block(writer, node) -> None:
    number = f' id="{html.escape(node["ids"][0])}"' if node["ids"] else ""
    formula = mathml(node.astext(), "block")
    writer.body.append(f'<div class="math scroll" tabindex="0"{number}>{formula}</div>')
    raise SkipNode


def mathml(latex: str, display: str) -> str:
    """The formula as MathML; one that cannot be converted is shown as it was typed."""
    try:
        return convert(latex, display=display)
    except Exception:  # the converter has no error of its own
        return f"<code>{html.escape(latex)}</code>"

"""Turn a page of a site into one file: styles, figures and all, to send by mail."""

import base64
import mimetypes
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

# what navigates a site, or is loaded when a page starts
SITE_ONLY = (
    "script, noscript, link[rel~=preload], link[rel~=icon], link[rel~=search], "
    "link[rel~=next], link[rel~=prev], link[rel~=index], dialog, "
    ".bd-sidebar-primary, .bd-header, .bd-header-article, .prev-next-area, "
    ".prev-next-footer, .pst-async-banner-revealer, #pst-back-to-top, "
    "#pst-scroll-pixel-helper, .sbt-scroll-pixel-helper, p.downloads, "
    "a.headerlink, i[class*=fa-], svg[class*=fa-]"  # icons need a font
)
FONT = re.compile(r"@font-face\s*{[^}]*}|@import[^;]*;")
ADDRESS = re.compile(r"url\((?!['\"]?(?:data:|#))[^)]*\)")
LOOK = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = () => {
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
};
dark.addEventListener("change", look);
look();
"""


def write(page: Path, target: Path) -> Path:
    """Write `page` (of a complete site) to `target` so that it needs no other file."""
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    styles = [_style(page.parent, link) for link in soup.select("link[rel=stylesheet]")]
    fold = (page.parent / "_static" / "site.js").read_text(encoding="utf-8")
    for tag in soup.select(f"link[rel=stylesheet], {SITE_ONLY}"):
        tag.decompose()
    for image in soup.select("img[src]"):
        image["src"] = _data(page.parent / str(image["src"]))
    for link in soup.select("a[href]"):
        if not str(link["href"]).startswith(("#", "http:", "https:")):
            link.unwrap()  # leads to a page that is not in this file
    for block in soup.select("pre"):
        block["tabindex"] = "0"  # so that a keyboard can scroll it
    head = soup.head
    assert head is not None
    head.append(_element(soup, "style", "\n".join(styles)))
    head.append(_element(soup, "script", f"{LOOK}\n{fold}"))
    target.write_text(str(soup), encoding="utf-8")
    return target


def _element(soup: BeautifulSoup, name: str, text: str) -> Tag:
    element = soup.new_tag(name)
    element.string = text
    return element


def _style(site: Path, link: Tag) -> str:
    """A style sheet without the files that it would load (fonts: the reader's own)."""
    path = site / str(link["href"]).partition("?")[0]
    return ADDRESS.sub("none", FONT.sub("", path.read_text(encoding="utf-8")))


def _data(path: Path) -> str:
    """The file as an address that holds it; a file that is not there stays away."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    content = path.read_bytes() if path.is_file() else b""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"

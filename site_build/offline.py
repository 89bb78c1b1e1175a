"""Does a built site ask for anything outside itself?"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "source": ("src", "srcset"),
    "embed": ("src",),
    "object": ("data",),
    "link": ("href",),
    "input": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""What a browser fetches by itself, by element."""
_OUTSIDE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
_IN_STYLES = re.compile(r"(?:@import\s+|url\()\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)
_STARTS_A_REQUEST = {
    "mermaid": "a diagram of mermaid, whose script the theme fetches",
    "md-source": "a link to a repository, whose figures the theme fetches",
}
"""Classes of elements that make the theme's script fetch something."""


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and given.get("rel") in ("canonical", "alternate", "next", "prev"):
            return
        self.asked += [given[name] for name in _FETCHED.get(tag, ()) if _OUTSIDE.match(given.get(name, ""))]
        self.asked += _IN_STYLES.findall(given.get("style", ""))
        classes = given.get("class", "").split()
        self.asked += [why for name, why in _STARTS_A_REQUEST.items() if name in classes]


def problems(site: Path) -> Iterator[str]:
    """What the pages, styles and pictures of a site ask for outside of it, one line each."""
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".svg"):
            text = path.read_text(encoding="utf-8")
            page = _Page()
            page.feed(text)
            asked = [*page.asked, *_IN_STYLES.findall("".join(re.findall(r"<style.*?</style>", text, re.DOTALL)))]
        elif path.suffix == ".css":
            asked = _IN_STYLES.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        yield from (f"{path.relative_to(site)} asks for something outside the site: {one}" for one in asked)

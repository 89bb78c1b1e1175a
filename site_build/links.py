"""Links between files of the repository, as links between pages of the site."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)$", re.MULTILINE | re.DOTALL)

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "RELEASING.md": "releasing.md",
    "SECURITY.md": "security.md",
    "src/polyseme/bundled/english-small/README.md": "models/english-small.md",
    "src/polyseme/bundled/chinese-small/README.md": "models/chinese-small.md",
}
"""Files outside docs/ that are pages of the site, by their path in the repository."""


def for_the_site(markdown: str, source: str, page: str) -> str:
    """Turn links between files into links between pages.

    Args:
        markdown: The text of a page.
        source: The path of its file in the repository.
        page: Its path in the site.

    Returns:
        The text. A link to a file or folder that has no page becomes plain text; one that leads nowhere is left as it
        is, and the build fails because of it.
    """

    def changed(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        there = PAGES.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        if there is not None:
            there = there.replace(".ipynb", ".md") if link["text"] != posixpath.basename(there) else there
            relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
            return f"{link['image']}[{link['text']}]({relative}{link['anchor'] or ''})"
        return link["text"] if (ROOT / target).exists() else link[0]

    parts, end = [], 0
    for code in _FENCE.finditer(markdown):
        parts += [_LINK.sub(changed, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(changed, markdown[end:])])

"""The pages that people open in a browser: what the server offers, and the files that pages need.

Nothing on a page comes from outside this server; the content-security policy says so to the browser.
"""

from html import escape
from pathlib import Path

from polyseme import __version__
from polyseme.files.whole import JSON

STATIC = Path(__file__).parent / "static"
POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
"""For every page."""
EXPLORER = POLICY.replace(
    "'self'", "'self'; script-src 'self' 'unsafe-eval'; img-src 'self' data: blob:; worker-src 'self' blob:", 1
)
"""For the explorer: the library that draws its map compiles its drawing functions in the page."""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>polyseme</title><link rel="stylesheet" href="/static/pages.css">
<h1>{model}</h1>
<p>polyseme {version}, fingerprint <code>{fingerprint}</code>. <a href="/openapi.json">openapi.json</a> describes all
fields.</p>
<table><tr><th>request<th>answer</tr>
{rows}
</table>
</html>
"""


def explorer() -> str:
    """The page of the explorer."""
    return (STATIC / "explore.html").read_text(encoding="utf-8")


def overview(openapi: dict[str, JSON], model: str, fingerprint: str) -> str:
    """A plain page that lists what can be asked.

    Args:
        openapi: The description of the interface.
        model: The name of the model.
        fingerprint: Which model it is.
    """
    rows = []
    paths = openapi.get("paths")
    assert isinstance(paths, dict)
    for path, methods in paths.items():
        assert isinstance(methods, dict)
        for method, described in methods.items():
            assert isinstance(described, dict)
            what = escape(str(described.get("summary", "")))
            rows.append(f"<tr><td><code>{method.upper()} {escape(path)}</code><td>{what}</tr>")
    return _PAGE.format(model=escape(model), version=__version__, fingerprint=escape(fingerprint), rows="\n".join(rows))

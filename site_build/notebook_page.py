"""A notebook as a page of the site."""

import base64
import posixpath
from pathlib import Path
from typing import Any

import nbformat


def read(path: Path) -> Any:
    """A notebook, in the present version of the format."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def page(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown with the pictures it shows.

    Args:
        notebook: With its outputs.
        name: The path of the page in the site, without its suffix.

    Returns:
        The Markdown, and each picture by its path in the site.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_shown(output, name, pictures) for output in cell.outputs]
    about = (
        f'!!! note ""\n    This page is a notebook: '
        f"[{posixpath.basename(name)}.ipynb]({posixpath.basename(name)}.ipynb)"
    )
    first, *rest = parts
    title, _, text = first.partition("\n")
    return "\n\n".join([title, about, text.strip(), *rest]) + "\n", pictures


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.data
    for kind, suffix in (("image/png", "png"), ("image/svg+xml", "svg")):
        if kind in data:
            place = f"{name}-{len(pictures) + 1}.{suffix}"
            stored = data[kind]
            pictures[place] = base64.b64decode(stored) if suffix == "png" else stored.encode()
            return f"![{data.get('text/plain', 'picture')}]({posixpath.basename(place)})"
    return f"```text\n{data['text/plain'].rstrip()}\n```"

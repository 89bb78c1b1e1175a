"""The pages of the Python reference: which names each shows. mkdocstrings writes them from the docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

import polyseme

PACKAGE = Path(polyseme.__file__).parent
FIRST = ("text", "embed", "train", "tasks", "index", "study", "plots", "compat", "serve", "models", "formats", "nn")
"""The parts of the package that come first in the menu."""
WITHOUT_A_PAGE = {"__init__", "__main__", "__pycache__", "arrays", "bundled", "cli", "py"}


def rooms() -> dict[str, str]:
    """The parts of the package that have a page, in the order of the menu, with what each is."""
    found = {path.stem for path in PACKAGE.iterdir()} - WITHOUT_A_PAGE
    ordered = [*(room for room in FIRST if room in found), *sorted(found.difference(FIRST))]
    return {room: _first_line(room) for room in ordered}


def _first_line(room: str) -> str:
    single = PACKAGE / f"{room}.py"
    text = (single if single.exists() else PACKAGE / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or room).splitlines()[0].rstrip(".")


def pages() -> dict[str, str]:
    """The Markdown of each page by its path in the site."""
    found = {"reference/python.md": _public()}
    for room, title in rooms().items():
        modules = "".join(map(_module, modules_of(room)))
        found[f"reference/polyseme.{room}.md"] = f"# polyseme.{room}\n\n{title}.\n{modules}"
    return found


def _public() -> str:
    text = "# Python\n\nThe names of `polyseme` itself. Everything else is listed by the parts of the package.\n"
    homes = polyseme._HOMES
    first = ["load", "Embedder"]
    for name in [*first, *(name for name in polyseme.__all__ if name not in first)]:
        text += f"\n::: {homes[name]}.{name}\n    options:\n      heading_level: 2\n      show_root_full_path: false\n"
        text += "      inherited_members: true\n"
    return text


def _module(name: str) -> str:
    """A module without what stands on the page of public names already."""
    elsewhere = "".join(f', "!^{public}$"' for public, home in polyseme._HOMES.items() if home == name)
    return f'\n::: {name}\n    options:\n      filters: ["!^_"{elsewhere}]\n'


def modules_of(room: str) -> Iterator[str]:
    """The modules of a part that define public names, without those whose own name is private."""
    single = PACKAGE / f"{room}.py"
    for path in [single] if single.exists() else sorted((PACKAGE / room).rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if path.name.startswith("_") and path.name != "__init__.py":
            continue
        if _defines_public_names(path):
            yield ".".join(parts).removesuffix(".__init__")


def _defines_public_names(path: Path) -> bool:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    named = (node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return any(not name.startswith("_") for name in named)

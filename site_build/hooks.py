"""Hooks of mkdocs: the pages of the site that are not files of docs/, and links that are written for the repository."""

import logging
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from site_build import commands, links, notebook_page, offline, reference

LOG = logging.getLogger("mkdocs.hooks.polyseme")
_SOURCES = {page: source for source, page in links.PAGES.items()}


def on_config(config: MkDocsConfig) -> None:
    """Add the parts of the package to the menu, and pages of docs/ that have no place in it to the guide."""
    menu = {name: part for one in config.nav or [] for name, part in one.items()}
    menu["Reference"] += [{f"polyseme.{room}": f"reference/polyseme.{room}.md"} for room in reference.rooms()]
    placed = repr(config.nav)
    menu["Guide"] += [path.name for path in sorted(Path(config.docs_dir).glob("*.md")) if path.name not in placed]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, the model cards, the notebooks and the references."""
    for page, source in _SOURCES.items():
        text = (links.ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    made = {"reference/commands.md": commands.reference(), **reference.pages()}
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for path in sorted(Path(config.docs_dir, "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.stem}"
        text, pictures = notebook_page.page(notebook_page.read(path), name)
        files.append(File.generated(config, f"{name}.md", content=text))
        for place, content in pictures.items():
            files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Turn links between files of the repository into links between pages."""
    place = page.file.src_uri
    return links.for_the_site(markdown, _SOURCES.get(place, f"docs/{place}"), place)


def on_post_build(config: MkDocsConfig) -> None:
    """Fail if a page asks for something outside the site."""
    for line in offline.problems(Path(config.site_dir)):
        LOG.warning(line)

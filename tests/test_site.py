"""The documentation site: its notebooks run, its examples print what stands there, its references are complete."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from polyseme.cli.main import app
from site_build import commands, doctests, links, made_with, notebook_page, notebooks, offline, pages, reference, same

SMALL: dict[str, dict[str, object]] = {
    "senses": {"most_words": 2},
    "novel": {},
    "ner": {"epochs": 1, "most_sentences": 40},
    "domain": {"epochs": 1, "updates": 2, "measured": 10},
}
"""Other values for the parameters of each notebook, with which it takes seconds."""


def test_all_notebooks_are_run() -> None:
    assert {path.stem for path in notebooks.notebooks()} == SMALL.keys()


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """In a small version; `make docs` runs it whole and compares what it prints."""
    small = [f"--set={name}={json.dumps(value)}" for name, value in SMALL[path.stem].items()]
    command = [sys.executable, "-m", "site_build.notebooks", str(path), *small, "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=links.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    now, there = (notebook_page.read(folder / path.name) for folder in (tmp_path, path.parent))
    assert list(map(bool, notebooks.printed(now))) == list(map(bool, notebooks.printed(there)))
    if made_with.is_current() and not small:
        assert notebooks.changes(path, now) == []


def test_a_notebook_as_a_page() -> None:
    text, pictures = notebook_page.page(notebook_page.read(notebooks.FOLDER / "senses.ipynb"), "notebooks/senses")
    assert text.startswith("# The senses of a word\n")
    assert list(pictures) == ["notebooks/senses-1.png"]
    assert pictures["notebooks/senses-1.png"].startswith(b"\x89PNG")
    assert "](senses-1.png)" in text
    assert "160 sentences;" in text


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.name)
def test_examples_of_a_page(page: Path) -> None:
    text, wrong = pages.renewed(page.read_text(encoding="utf-8"))
    if made_with.is_current():
        assert wrong == [], "make docs-renew writes what is printed now"
    assert text.count("```") == page.read_text(encoding="utf-8").count("```")


def test_an_example_that_prints_something_else_is_found_and_renewed() -> None:
    page = "<!-- executed -->\n```python\nprint('one', 2)\n```\n\n```\nold\n```\nand on\n"
    text, wrong = pages.renewed(page)
    assert wrong == ["'old' stands there, 'one 2' is printed"]
    assert text == page.replace("old\n", "one 2\n")
    assert pages.renewed(text) == (text, [])


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(ValueError, match="polyseme info nowhere: polyseme: nowhere"):
        pages.renewed("<!-- executed -->\n```\npolyseme info nowhere\n```\n\n```\n```\n")


def test_the_command_reference_has_every_command_and_option() -> None:
    text = commands.reference()
    found = dict(commands.commands(typer.main.get_command(app)))
    assert len(found) > 20
    for name, command in found.items():
        section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert section, name
        for parameter in command.params:
            long = [option for option in parameter.opts if option.startswith("--") and option != "--help"]
            assert all(option in section[1] for option in long), (name, long)


def test_the_python_reference_has_every_part_but_the_commands() -> None:
    rooms = reference.rooms()
    assert list(rooms)[:2] == ["text", "embed"]
    assert rooms["errors"]
    assert not {"cli", "bundled"} & rooms.keys()
    assert "reference/polyseme.index.md" in reference.pages()  # index.md would be the page of the folder
    written = "".join(reference.pages().values())
    assert "::: polyseme.embed.load.load\n" in written
    assert "::: polyseme.study.compare\n" in written


def test_links_become_links_between_pages() -> None:
    def changed(text: str) -> str:
        return links.for_the_site(text, "docs/text.md", "text.md")

    assert changed("[a](formats.md#b) ![c](play.png)") == "[a](formats.md#b) ![c](play.png)"
    assert changed("[card](../src/polyseme/bundled/english-small/README.md)") == "[card](models/english-small.md)"
    assert changed("[recipe](../recipes/english-small)") == "recipe"
    assert changed("[n](notebooks/ner.ipynb)") == "[n](notebooks/ner.md)"
    assert changed("[gone](../nowhere.md)") == "[gone](../nowhere.md)"
    assert changed("```\n[a](../recipes)\n```\n") == "```\n[a](../recipes)\n```\n"
    assert links.for_the_site("[t](docs/text.md)", "README.md", "index.md") == "[t](text.md)"


@pytest.mark.parametrize(
    ("name", "content", "asked"),
    [
        ("a.html", '<script src="https://cdn.example.org/a.js"></script>', "https://cdn.example.org/a.js"),
        ("a.html", '<img src="//example.org/a.png">', "//example.org/a.png"),
        ("a.html", '<link rel="stylesheet" href="https://fonts.example.org/css">', "https://fonts.example.org/css"),
        ("a.html", "<style>@import 'https://example.org/a.css';</style>", "https://example.org/a.css"),
        ("a.html", '<pre class="mermaid">graph</pre>', "a diagram of mermaid, whose script the theme fetches"),
        ("a.css", "body { background: url(https://example.org/a.png) }", "https://example.org/a.png"),
        ("a.svg", '<svg><image href="https://example.org/a.png"/></svg>', "https://example.org/a.png"),
        ("a.html", '<a href="https://example.org">a link that somebody may click</a><img src="a.png">', None),
        ("a.html", '<link rel="canonical" href="https://example.org/a.html">', None),
        ("a.js", '"https://example.org"', None),
    ],
)
def test_what_asks_for_something_outside(tmp_path: Path, name: str, content: str, asked: str | None) -> None:
    (tmp_path / name).write_text(content)
    expected = [] if asked is None else [f"{name} asks for something outside the site: {asked}"]
    assert list(offline.problems(tmp_path)) == expected


def test_sessions_in_docstrings_are_fenced() -> None:
    text = "It adds.\n\n>>> 1 + (\n...     1)\n2\n\nThat is all."
    assert doctests.fenced(text) == "It adds.\n\n```pycon\n>>> 1 + (\n...     1)\n2\n```\n\nThat is all."
    assert doctest.testmod(same).failed == 0


def test_the_record_names_the_bundled_models() -> None:
    assert json.loads(made_with.RECORD.read_text()).keys() == made_with.models_now().keys()

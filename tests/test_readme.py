"""The Python of the README and of the pages that have examples is run, and prints what stands below it."""

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import GOLDEN, Command

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": 2, "docs/combine.md": 4, "docs/coming-from.md": 1, "docs/search.md": 1}
"""How many examples each page has."""
IN_A_FOLDER = ("docs/coming-from.md", "docs/search.md")
"""Pages whose examples write files; they run in a folder of their own."""


def examples(page: str) -> list[tuple[str, str]]:
    """Each piece of Python with the output that stands below it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n((?:(?!```).)*)```\n\n```\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(("page", "number"), [(page, n) for page, count in PAGES.items() for n in range(count)])
@pytest.mark.usefixtures("files")
def test_example(page: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if page not in IN_A_FOLDER:
        monkeypatch.chdir(ROOT)
    code, expected = examples(page)[number]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"{page} example {number}", "exec"), {})
    assert printed.getvalue() == expected


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that docs/coming-from.md names, in the folder its lines run in."""
    for path in (*(GOLDEN / "allennlp/two_layers").iterdir(), *(GOLDEN / "tf_checkpoint/model").glob("model.ckpt-*")):
        shutil.copy(path, tmp_path)
    shutil.copytree(GOLDEN / "tf_checkpoint/model", tmp_path / "checkpoint")
    shutil.copy(GOLDEN / "gensim/vectors.bin", tmp_path)
    (tmp_path / "sentences.txt").write_text("The river bank\nA bank loan\n")
    (tmp_path / "sentences.conllu").write_text("1\tbank" + "\t_" * 8 + "\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("files")
def test_every_line_of_the_tables_of_coming_from(run: Command) -> None:
    """What stands in the second column of a table is a command, Python, or an option of embed."""
    text = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    options = run("embed", "--help").out
    names: dict[str, object] = {}
    rows = re.findall(r"^\| `[^|]*\| (.*?) \| ", text, re.MULTILINE)
    assert len(rows) > 35
    for row in rows:
        for code in re.findall(r"`([^`]+)`", row):
            if code.startswith("--"):
                assert code.split()[0] in options
            elif code.startswith("polyseme "):
                done = run(*shlex.split(code.removeprefix("polyseme ")))
                assert done.code == 0, done.err
            else:
                exec(compile(code, row, "exec"), names)


def test_every_example_is_run() -> None:
    assert {page: len(examples(page)) for page in PAGES} == PAGES


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"

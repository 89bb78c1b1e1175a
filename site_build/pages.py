"""Runs the examples of the pages: to check that they print what stands below them, or to renew it.

    python -m site_build.pages          # check
    python -m site_build.pages --renew  # run them and write what they print

An example is a block of commands or of Python with the comment ``<!-- executed -->`` above it; the block after it is
what it prints. A block below ``<!-- file: NAME -->`` is written to that file first. The examples of a page run one
after another in a folder of their own, in which ``polyseme demo`` has written its sentences.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from site_build.links import ROOT
from site_build.same import differences

_BLOCK = re.compile(
    r"^<!-- (?:(?P<run>executed)|file: (?P<file>\S+)) -->\n```(?P<kind>\w*)\n(?P<code>.*?)^```\n"
    r"(?:\n```\w*\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


def pages() -> list[Path]:
    """The pages that have examples."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if "<!-- executed -->" in page.read_text(encoding="utf-8")]


def renewed(text: str) -> tuple[str, list[str]]:
    """A page with what its examples print now, and how that differs from what stood there, one line each."""
    wrong: list[str] = []
    names: dict[str, object] = {}

    def ran(block: re.Match[str]) -> str:
        if block["file"]:
            Path(block["file"]).write_text(block["code"], encoding="utf-8")
            return block[0]
        printed = _python(block["code"], names) if block["kind"] == "python" else _commands(block["code"])
        stored = block["output"]
        if stored is None:
            raise ValueError(f"nothing stands below the example {block['code']!r}")
        changed = list(differences(stored, printed))
        wrong.extend(changed)
        start, end = (place - block.start() for place in block.span("output"))
        return block[0][:start] + printed + block[0][end:] if changed else block[0]

    with _folder():
        return _BLOCK.sub(ran, text), wrong


def _python(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), names)
    return printed.getvalue()


def _commands(code: str) -> str:
    """What the commands print on standard output; a # begins a comment."""
    lines = code.replace("\\\n", " ").splitlines()
    return "".join(_command(words) for line in lines if (words := shlex.split(line, comments=True)))


def _command(words: list[str]) -> str:
    from polyseme.cli.main import main

    printed, told = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
        try:
            main()
        except SystemExit as left:
            if left.code:
                raise ValueError(f"{shlex.join(words)}: {told.getvalue()}") from left
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines()) + "\n" * bool(printed.getvalue())


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    """Work in a new folder with the sentences of the demo."""
    from polyseme.cli.demo import SHOWN, corpus_of

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("demo-output").mkdir()
            for name, shown in SHOWN.items():
                Path(f"demo-output/{name}.txt").write_text(corpus_of(shown), encoding="utf-8")
            yield
        finally:
            os.chdir(before)


def main() -> None:
    """Check or renew the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write what the examples print")
    renew, wrong = parser.parse_args().renew, []
    for page in pages():
        text, changed = renewed(page.read_text(encoding="utf-8"))
        wrong += [f"{page.relative_to(ROOT)}: {line}" for line in changed]
        if renew and changed:
            page.write_text(text, encoding="utf-8")
    if not renew and wrong:
        sys.exit("\n".join([*wrong, "make docs-renew writes what is printed now"]))


if __name__ == "__main__":
    main()

"""The beginning of a corpus, read ahead of the whole to judge what it looks like."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from pathlib import Path

from polyseme.errors import InputError
from polyseme.text.choices import TOKENS_ALREADY, Layout
from polyseme.text.lines import Lines
from polyseme.text.repairs import Repairs

STDIN = "-"
_FILES = 8
_CHARACTERS = 1 << 14  # of each file
_MARKUP = re.compile(r"<[^>]*>?")
_WORD_MARKUP = re.compile(r"<(?:w|pc|c)[\s>]")


Opener = Callable[[str], AbstractContextManager[io.BufferedIOBase]]
"""Opens the bytes of a file."""


def beginning(files: Iterable[tuple[str, Layout]], opener: Opener | None = None) -> str:
    """Running text from the beginning of the first files that have some; "" if none can be read ahead.

    Of standard input only what has already arrived is used, and of a named pipe nothing: neither can be read twice.

    Args:
        files: Paths and their layouts; CoNLL-U, FASTA and VRT are skipped, because they contain tokens.
        opener: Opens a file that is not on this machine.
    """
    found: list[str] = []
    running = ((path, layout) for path, layout in files if layout not in TOKENS_ALREADY)
    for path, layout in islice(running, _FILES):
        with suppress(InputError, OSError):  # raised again, with its position, when the corpus is read
            for line in _some_lines(path, layout, opener or _opened):
                found.append(line)  # noqa: PERF402 - what came before an error counts
    return "\n".join(found)


def _some_lines(path: str, layout: Layout, opener: Opener) -> Iterator[str]:
    with opener(path) as stream:
        lines = Lines(stream, name=path, repairs=Repairs())
        read = 0
        while read < _CHARACTERS and (line := lines.readline(_CHARACTERS)):
            read += len(line)
            yield _text_of_record(line) if layout == "jsonl" else _text_of_markup(line) if layout == "tei" else line


def _opened(path: str) -> AbstractContextManager[io.BufferedIOBase]:
    if path == STDIN:
        peek: Callable[[int], bytes] | None = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
        return nullcontext(io.BytesIO(peek(_CHARACTERS) if peek else b""))
    return Path(path).open("rb") if Path(path).is_file() else nullcontext(io.BytesIO())


def _text_of_record(line: str) -> str:
    """The running text of a JSON line; "" if the line contains tokens."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    if isinstance(record, dict) and record.get("tokens") is None:
        record = record.get("text")
    return record if isinstance(record, str) else ""


def _text_of_markup(line: str) -> str:
    """The running text of a line of XML; "" if its words are marked."""
    return "" if _WORD_MARKUP.search(line) else _MARKUP.sub(" ", line)

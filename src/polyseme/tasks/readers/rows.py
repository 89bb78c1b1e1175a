"""Sentences in columns: a line for each token, a blank line behind each sentence."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polyseme.errors import InputError
from polyseme.tasks.readers.reading import Reading

CONLLU_COLUMNS = 10
_WORD = re.compile(r"\d+")
_OTHER = re.compile(r"\d+-\d+|\d+\.\d+")
_LONGEST = 2**22  # tokens; a whole sentence must fit into memory


@dataclass(frozen=True, slots=True)
class Row:
    """A token's line: its number in the file and its columns."""

    line: int
    columns: list[str]


def blocks(reading: Reading, split: Callable[[str, str], list[str] | None]) -> Iterator[list[Row]]:
    """The rows of each sentence; ``split`` gives the columns of a line, or None for a line that is no token's."""
    rows: list[Row] = []
    for line in reading.lines:
        if line.strip():
            columns = split(line, reading.place)
            if columns is not None:
                rows.append(Row(reading.lines.number, columns))
            if len(rows) > _LONGEST:
                raise InputError(f"{reading.place}: a sentence of more than {_LONGEST:,} tokens; split it")
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def split_columns(line: str, place: str) -> list[str] | None:
    """The columns of a line between tabs, or between spaces if it has none; None for ``-DOCSTART-`` and comments."""
    del place
    if is_comment(line):
        return None
    columns = line.split("\t") if "\t" in line else line.split()
    return None if columns[0] == "-DOCSTART-" else columns


def is_comment(line: str) -> bool:
    """Whether a line of columns is a comment, as ``# id 7`` or ``# text = ...``, and not the token ``#``."""
    return line.startswith(("# id", "#begin", "#end")) or (
        line.startswith("# ") and "\t" not in line and (" = " in line or line.startswith(("# begin", "# end")))
    )


def split_conllu(line: str, place: str) -> list[str] | None:
    """The columns of a word of CoNLL-U; None for comments, ranges (1-2) and empty nodes (1.1).

    Raises:
        InputError: The line is something else.
    """
    if line.startswith("#"):
        return None
    columns = line.split("\t")
    if len(columns) < CONLLU_COLUMNS:
        raise InputError(
            f"{place}: {len(columns)} tab-separated columns where CoNLL-U has {CONLLU_COLUMNS}; give CoNLL-U, or name "
            "the format that fits"
        )
    if _OTHER.fullmatch(columns[0]):
        return None
    if not _WORD.fullmatch(columns[0]) or not columns[1]:
        raise InputError(
            f"{place}: word {columns[0]!r} with form {columns[1]!r} where CoNLL-U has a number (1, 1-2 or 1.1) and a "
            "form; correct the line"
        )
    return columns

"""Reads sentences with a tag for each token: CoNLL-2003 columns, WikiANN and CoNLL-U."""

import re
from collections.abc import Iterator, Sequence

from polyseme.errors import InputError
from polyseme.tasks.examples import Tagged
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import BROKEN_TAG
from polyseme.tasks.readers.rows import Row, blocks, split_columns, split_conllu
from polyseme.tasks.tags import OUTSIDE, mend_tag
from polyseme.text.labels import label_reader

WIKIANN_TOKEN = re.compile(r"[a-z][a-z-]{1,11}:")
"""The language before each token."""


def read_conll(reading: Reading) -> Iterator[Tagged]:
    """Read columns between spaces or tabs: the token first, its tag last or in the chosen column."""
    column = tag_column(reading)
    for rows in blocks(reading, split_columns):
        width = len(rows[0].columns)
        for row in rows:
            if len(row.columns) != width:
                raise InputError(
                    f"{reading.at(row.line)}: {len(row.columns)} columns, but the sentence began with {width}; "
                    "correct the line"
                )
        yield _tagged(reading, rows, column)


def read_wikiann(reading: Reading) -> Iterator[Tagged]:
    """Read ``en:token TAB tag``; the language in front is taken off."""
    for rows in blocks(reading, split_wikiann):
        yield _tagged(reading, rows, -1)


def read_conllu_tags(reading: Reading) -> Iterator[Tagged]:
    """Read words of CoNLL-U with the labels of one column, by default their universal part of speech."""
    label = label_reader(reading.options.column or "upos")
    for rows in blocks(reading, split_conllu):
        tags = [label(row.columns, reading.at(row.line)) for row in rows]
        yield Tagged(tuple(row.columns[1] for row in rows), checked_tags(reading, tags, [row.line for row in rows]))


def tag_column(reading: Reading) -> int:
    """The place of the chosen column of tags in a list of columns; -1 for the last."""
    column = reading.options.column
    if column is None:
        return -1
    if not column.isdecimal() or int(column) < 2:
        raise InputError(f"column {column!r} is not a number from 2; the token is column 1, give the column of its tag")
    return int(column) - 1


def checked_tags(reading: Reading, tags: Sequence[str], lines: Sequence[int]) -> tuple[str, ...]:
    """The tags; those of entities are checked, and mended where they continue nothing."""
    if reading.task != "ner":
        return tuple(tags)
    found: list[str] = []
    before = OUTSIDE
    for tag, line in zip(tags, lines, strict=True):
        try:
            mended = mend_tag(before, tag)
        except InputError as error:
            raise InputError(f"{reading.at(line)}: {error}") from None
        if mended != tag:
            reading.count(BROKEN_TAG, reading.at(line))
        found.append(mended)
        before = mended
    return tuple(found)


def _tagged(reading: Reading, rows: list[Row], column: int) -> Tagged:
    tokens = tuple(reading.token(row.columns[0], row.line) for row in rows)
    for row in rows:
        missing = len(row.columns) < 2 or column >= len(row.columns)
        if missing and not reading.options.labelled:
            return Tagged(tokens)
        if missing or not row.columns[column].strip():
            raise InputError(
                f"{reading.at(row.line)}: no tag in {f'column {column + 1}' if column > 0 else 'the last column'} of "
                f"{len(row.columns)}; correct the line, or choose the column of the tags"
            )
    return Tagged(tokens, checked_tags(reading, [row.columns[column] for row in rows], [row.line for row in rows]))


def split_wikiann(line: str, place: str) -> list[str]:
    """The token and the tag of a line of WikiANN."""
    columns = line.split("\t")
    match = WIKIANN_TOKEN.match(columns[0])
    if match is None or len(columns) > 2:
        raise InputError(f"{place}: {line[:40]!r} where WikiANN has 'en:token TAB tag'; correct the line")
    return [columns[0][match.end() :], *columns[1:]]

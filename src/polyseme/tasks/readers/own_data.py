"""Reads a user's own data: CSV, TSV and JSON lines with named columns.

What each task needs; a list may be JSON, or in CSV and TSV also strings between spaces. Positions count from 0, and an
end is behind the last.

========  =============================================================================================================
classify  ``text`` (raw) or ``tokens``; ``label``
tag, ner  ``tokens`` (or ``text``, if there are no tags); ``tags``, as many
entail    ``premise`` and ``hypothesis``, raw or lists of tokens; ``label``
answer    ``question`` and ``passage``, raw; ``answers``: a list of strings or of {"start", "text"}; or ``answer``, a
          string; optionally ``id``
roles     ``tokens``; ``predicate``, a position; ``spans``: [[start, end, label], ...]
coref     ``sentences``, lists of tokens; ``clusters``: [[[start, end], ...], ...]; optionally ``id``
========  =============================================================================================================
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping

from polyseme.errors import InputError
from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Example, Pair, Tagged, Text
from polyseme.tasks.readers.json_values import json_object
from polyseme.tasks.readers.own_fields import Fields
from polyseme.tasks.readers.own_spans import read_document, read_question, read_roles
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import EMPTY_TEXT
from polyseme.tasks.readers.tagged import checked_tags

Record = Mapping[str, object]


def read_jsonl(reading: Reading) -> Iterator[Example]:
    """Read one object a line."""
    return (example for _, example in with_records(reading, json_records(reading)) if example is not None)


def read_csv(reading: Reading) -> Iterator[Example]:
    """Read values between commas; quoted ones may hold commas and line ends."""
    return (example for _, example in with_records(reading, csv_records(reading)) if example is not None)


def read_tsv(reading: Reading) -> Iterator[Example]:
    """Read values between tabs, quotes as they are."""
    return (example for _, example in with_records(reading, tsv_records(reading)) if example is not None)


def json_records(reading: Reading) -> Iterator[Record]:
    """The objects of JSON lines."""
    return (json_object(line, reading.place) for line in reading.lines if line.strip())


def csv_records(reading: Reading) -> Iterator[Record]:
    """The lines of a CSV file, by the names of their columns."""
    return _table(reading, csv.reader((f"{line}\n" for line in reading.lines), strict=True))


def tsv_records(reading: Reading) -> Iterator[Record]:
    """The lines of a TSV file, by the names of their columns."""
    return _table(reading, (line.split("\t") for line in reading.lines))


def with_records(reading: Reading, records: Iterable[Record]) -> Iterator[tuple[Record, Example | None]]:
    """Each record with its example; None if it is left out, which is counted."""
    for record in records:
        found = _READERS[reading.task](reading, Fields(record, reading))
        if isinstance(found, str):
            reading.count(found)
        yield record, None if isinstance(found, str) else found


def _table(reading: Reading, rows: Iterator[list[str]]) -> Iterator[Record]:
    names: list[str] | None = None
    try:
        for row in rows:
            if not any(row):
                continue
            if names is None:
                names = row if reading.options.header else [str(place) for place in range(1, len(row) + 1)]
                if reading.options.header:
                    continue
            if len(row) != len(names):
                raise InputError(f"{reading.place}: {len(row)} values for {len(names)} columns; correct the line")
            yield dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise InputError(f"{reading.place}: not CSV: {error}; correct the line, or name the format that fits") from None


def _text(reading: Reading, fields: Fields) -> Text | str:
    del reading
    tokens = fields.text_or_tokens()
    return Text(tokens, fields.label()) if tokens else EMPTY_TEXT


def _tagged(reading: Reading, fields: Fields) -> Tagged | str:
    if not fields.has("tags") and not reading.options.labelled:
        tokens = fields.text_or_tokens()
        return Tagged(tokens) if tokens else EMPTY_TEXT
    tokens, tags = fields.tokens("tokens"), fields.tokens("tags")
    if len(tokens) != len(tags):
        raise InputError(f"{reading.place}: {len(tags)} tags for {len(tokens)} tokens; give one for each")
    if not tokens:
        return EMPTY_TEXT
    return Tagged(tokens, checked_tags(reading, tags, [reading.lines.number] * len(tags)))


def _pair(reading: Reading, fields: Fields) -> Pair | str:
    del reading
    premise, hypothesis = fields.raw_or_tokens("premise"), fields.raw_or_tokens("hypothesis")
    return Pair(premise, hypothesis, fields.label()) if premise and hypothesis else EMPTY_TEXT


_READERS: dict[TaskName, Callable[[Reading, Fields], Example | str]] = {
    "classify": _text,
    "tag": _tagged,
    "ner": _tagged,
    "entail": _pair,
    "answer": read_question,
    "roles": read_roles,
    "coref": read_document,
}
"""From a record to its example, or to the repair that says why it is left out."""

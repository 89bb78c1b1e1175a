"""Reads pairs of sentences: SNLI's JSON lines (also MultiNLI) and SICK's table."""

from collections.abc import Iterator

from polyseme.errors import InputError
from polyseme.tasks.examples import Pair
from polyseme.tasks.readers.json_values import json_object
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import EMPTY_TEXT, NO_GOLD_LABEL

_SICK_SENTENCES = ("sentence_A", "sentence_B")
_SICK_LABELS = ("entailment_judgment", "entailment_label")


def read_snli(reading: Reading) -> Iterator[Pair]:
    """Read ``sentence1``, ``sentence2`` and ``gold_label``; pairs whose annotators disagreed (``-``) are left out."""
    for line in reading.lines:
        if not line.strip():
            continue
        record = json_object(line, reading.place)
        first, second, label = (record.get(name) for name in ("sentence1", "sentence2", "gold_label"))
        if not isinstance(first, str) or not isinstance(second, str):
            raise InputError(f'{reading.place}: no "sentence1" and "sentence2"; give SNLI\'s JSON lines')
        if label == "-":
            reading.count(NO_GOLD_LABEL)
        elif isinstance(label, str) and label:
            yield from _pair(reading, first, second, label)
        elif label is None and not reading.options.labelled:
            yield from _pair(reading, first, second, None)
        else:
            raise InputError(f'{reading.place}: "gold_label" is {label!r}; give a string')


def read_sick(reading: Reading) -> Iterator[Pair]:
    """Read the table of SICK 2014, or of the whole of SICK, with its entailment labels as they are written."""
    names: list[str] = []
    for line in reading.lines:
        columns = line.split("\t")
        if not names:
            names = columns
            label = next((name for name in _SICK_LABELS if name in names), None)
            if not set(_SICK_SENTENCES) <= set(names) or (label is None and reading.options.labelled):
                raise InputError(
                    f"{reading.place}: columns {', '.join(names)[:80]}, where SICK has sentence_A, sentence_B and "
                    "entailment_judgment; give SICK, or another format"
                )
        elif line.strip():
            if len(columns) != len(names):
                raise InputError(
                    f"{reading.place}: {len(columns)} columns, but the header has {len(names)}; correct the line"
                )
            row = dict(zip(names, columns, strict=True))
            yield from _pair(reading, row["sentence_A"], row["sentence_B"], row[label] if label else None)


def _pair(reading: Reading, first: str, second: str, label: str | None) -> Iterator[Pair]:
    premise, hypothesis = reading.tokens(first), reading.tokens(second)
    if premise and hypothesis:
        yield Pair(premise, hypothesis, label)
    else:
        reading.count(EMPTY_TEXT)

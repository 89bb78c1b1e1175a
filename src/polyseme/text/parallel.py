"""Reads parallel text: pairs of a sentence and its translation, from two files, a table or JSON lines."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal

from polyseme.errors import InputError
from polyseme.text.beginning import STDIN
from polyseme.text.choices import TokenizerChoice
from polyseme.text.corpus import open_bytes
from polyseme.text.lines import Lines
from polyseme.text.looks import look_at
from polyseme.text.repairs import Repairs
from polyseme.text.segmentation import Segmentation, resolve

Side = Literal["source", "target"]
_JSON = (".jsonl", ".ndjson", ".json")
_TABLES = (*_JSON, ".tsv")
_LOOKED_AT = 400
"""Pairs from the beginning by which a text is judged."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation as they stand in the text."""

    source: str
    target: str
    place: str
    """``file:line``, for messages."""


class ParallelText:
    """Pairs of sentences that can be read several times.

    Args:
        files: Two files, one for each side, whose lines belong together; or one table: JSON lines if its name says so
            (.jsonl, .ndjson, .json), else columns between tabs. Each plain or compressed by gzip.
        fields: Of a table: the names of its two JSON fields ("source" and "target" by default) or the numbers of its
            two columns, from 1 (without them the table must have two columns).
    """

    def __init__(self, files: Sequence[str], fields: Sequence[str] = ()) -> None:
        self.files, self.fields = tuple(files), tuple(fields)
        self.repairs = Repairs()
        if not 1 <= len(self.files) <= 2:
            raise InputError(
                f"got {len(self.files)} files of parallel text, expected two (one for each language) or one table"
            )
        if len(self.files) == 2 and (table := next((one for one in self.files if _suffix(one) in _TABLES), None)):
            raise InputError(f"{table}: a table holds both sides; give it alone, or two files of plain lines")
        if self.fields and (len(self.fields) != 2 or len(self.files) == 2):
            what = "two plain files have none" if len(self.files) == 2 else "expected two: source,target"
            raise InputError(f"got the fields {','.join(self.fields)}; {what}")

    def __str__(self) -> str:
        return " and ".join(self.files)

    def __iter__(self) -> Iterator[Pair]:
        """Every pair, also one with an empty side, so that pairs can be counted."""
        self.repairs = Repairs()
        with ExitStack() as stack:
            lines = [self._open(path, stack) for path in self.files]
            if len(lines) == 2:
                yield from _side_by_side(lines[0], lines[1])
            elif _suffix(self.files[0]) in _JSON:
                yield from _json_lines(lines[0], self.fields or ("source", "target"))
            else:
                yield from _columns(lines[0], self.fields)

    def segmentation(self, side: Side, choice: TokenizerChoice) -> tuple[Segmentation, str | None]:
        """How one side is split into tokens, and one line about it for the user, or None.

        With ``auto`` this goes by what the text looks like; raw text of any language with spaces between its words is
        tokenised by the rules for English, which put punctuation apart.
        """
        beginning = "\n".join(getattr(pair, side) for pair in islice(self, _LOOKED_AT)) if choice == "auto" else ""
        if choice == "auto" and look_at(beginning) == "raw":
            return Segmentation("en"), f"{side}: the text looks raw and is tokenised by --{side}-tokenize en"
        chosen, note = resolve(choice, None, None, lambda: beginning)
        return chosen, note and f"{side}: {note.replace('--tokenize', f'--{side}-tokenize')}"

    def _open(self, path: str, stack: ExitStack) -> Lines:
        if path == STDIN:
            raise InputError("parallel text is read several times and cannot come from standard input; give files")
        return Lines(stack.enter_context(open_bytes(path)), name=path, repairs=self.repairs)


def tokens_of(segmentation: Segmentation, line: str) -> list[str]:
    """The tokens of one line, which stays one sentence even if it holds several."""
    return [token for sentence in segmentation.sentences(line) for token in sentence]


def _suffix(path: str) -> str:
    name = Path(path)
    return (name.with_suffix("") if name.suffix == ".gz" else name).suffix.lower()


def _side_by_side(source: Lines, target: Lines) -> Iterator[Pair]:
    for left, right in zip_longest(source, target):
        if left is None or right is None:
            longer, shorter = (source, target) if right is None else (target, source)
            raise InputError(
                f"{longer.place}: has no line beside it, {shorter.name} ends after line {shorter.number:,}; expected "
                "as many lines in both, each the translation of the other"
            )
        yield Pair(left, right, source.place)


def _columns(lines: Lines, fields: Sequence[str]) -> Iterator[Pair]:
    if not all(field.isascii() and field.isdigit() and int(field) for field in fields):
        raise InputError(
            f"{lines.name}: got the fields {','.join(fields)}, expected the numbers of two columns, such as 1,2"
        )
    first, second = (int(field) - 1 for field in fields or ("1", "2"))
    for line in lines:
        columns = line.split("\t")
        if fields and max(first, second) >= len(columns):
            raise InputError(
                f"{lines.place}: {len(columns)} tab-separated columns, but column {max(first, second) + 1} is asked "
                "for; correct the line"
            )
        if not fields and len(columns) != 2:
            raise InputError(
                f"{lines.place}: {len(columns)} tab-separated columns where two are expected; correct the line, or "
                "name the two columns, such as --fields 1,2"
            )
        yield Pair(columns[first], columns[second], lines.place)


def _json_lines(lines: Lines, fields: Sequence[str]) -> Iterator[Pair]:
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{lines.place}: not JSON: {error}; give one JSON object per line") from None
        sides = [record.get(field) if isinstance(record, dict) else None for field in fields]
        for field, side in zip(fields, sides, strict=True):
            if not isinstance(side, str):
                raise InputError(
                    f"{lines.place}: no text under {field!r}; expected an object with a string under each of "
                    f"{' and '.join(map(repr, fields))}, or name the fields with --fields"
                )
        source, target = (" ".join(lines.repairs.mend(str(side), lines.place).splitlines()) for side in sides)
        yield Pair(source, target, lines.place)

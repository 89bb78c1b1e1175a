"""Text whose words are tagged with senses, and WordNet's list of which sense comes first."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeGuard

from polyseme.errors import InputError
from polyseme.text.lines import Lines
from polyseme.text.repairs import Repairs

_CLASSES = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}
"""The part of speech that a WordNet sense key gives after its ``%``; 5 is a satellite of another adjective."""
_NO_SENSE = "U"


class Lexeme(NamedTuple):
    """What has senses: a lemma as one part of speech."""

    lemma: str
    part: str


@dataclass(frozen=True, slots=True)
class SenseTag:
    """A word of a sentence with its senses, any of which is right."""

    start: int
    stop: int
    lexeme: Lexeme
    senses: tuple[str, ...]
    """Empty if none fits."""


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence and the words in it that are tagged with senses."""

    tokens: list[str]
    tags: list[SenseTag]
    share: float
    """How much of its file was read with it, from 0 to 1."""


def read_senses(path: Path) -> Iterator[TaggedSentence]:
    """Read JSON lines: ``{"tokens": [...], "senses": [[start, length, lemma, part of speech, [sense keys]], ...]}``.

    Keys may be any strings. Those of WordNet (``art%1:06:00::``) may join several senses of a lemma (``%...;...``) and
    state their own part of speech, which is then used instead of the tagger's: a participle that is an adjective counts
    with the adjectives. The key ``U`` says that no sense fits. A token is split at underscores, as no model has seen
    words joined like that. Parts of speech are compared as they are written. Gzip is recognised by content.

    Raises:
        InputError: With file and line, if a line is something else.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    with stream:
        size = max(path.stat().st_size, 1)
        lines = Lines(stream, name=str(path), repairs=Repairs())
        for line in lines:
            if line.strip():
                tokens, tags = _sentence(line, lines.place)
                tokens = [lines.repairs.mend(token, lines.place) for token in tokens]  # JSON can escape non-text
                yield TaggedSentence(tokens, tags, min(1.0, stream.tell() / size))


def first_senses(path: Path, lexemes: Collection[Lexeme]) -> dict[Lexeme, str]:
    """The first sense of each lexeme that WordNet's ``index.sense`` knows (lines of key, synset, number and count)."""
    best: dict[Lexeme, tuple[int, str]] = {}
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    with stream:
        lines = Lines(stream, name=str(path), repairs=Repairs())
        for line in lines:
            fields = line.split()
            part = _part(fields[0]) if len(fields) >= 3 and fields[2].isdecimal() else None
            if part is None:
                raise InputError(
                    f"{lines.place}: {line[:40]!r} where a sense key, a synset and a number are expected; give "
                    "WordNet's index.sense"
                )
            lexeme, ranked = Lexeme(fields[0].partition("%")[0], part), (int(fields[2]), fields[0])
            if lexeme in lexemes and (lexeme not in best or ranked < best[lexeme]):
                best[lexeme] = ranked
    return {lexeme: key for lexeme, (_, key) in best.items()}


def _sentence(line: str, place: str) -> tuple[list[str], list[SenseTag]]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}; give one object per line, with tokens and senses") from None
    tokens, senses = (record.get(name) for name in ("tokens", "senses")) if isinstance(record, dict) else (None, None)
    if not _strings(tokens) or not isinstance(senses, list):
        raise InputError(
            f'{place}: expected an object with "tokens", a list of non-empty strings, and "senses", a list; got '
            f"{line[:40]!r}"
        )
    parts = [[part for part in token.split("_") if part] or [token] for token in tokens]
    starts = [0]
    for some in parts:
        starts.append(starts[-1] + len(some))
    return [part for some in parts for part in some], [_tag(sense, starts, place) for sense in senses]


def _tag(sense: object, starts: list[int], place: str) -> SenseTag:
    match sense:
        case [int(start), int(length), str(lemma), str(part), keys] if (
            0 <= start < start + length < len(starts) and lemma and _strings(keys)
        ):
            senses = tuple(single for key in keys for single in _single(key))
            known = next(filter(None, map(_part, senses)), None)
            return SenseTag(starts[start], starts[start + length], Lexeme(lemma, known or part), senses)
    raise InputError(
        f"{place}: the sense {json.dumps(sense, ensure_ascii=False)[:80]} is not [start, length, lemma, part of "
        f"speech, [sense keys]] within the {len(starts) - 1} tokens; correct the line"
    )


def _single(key: str) -> Iterator[str]:
    """The senses that a key joins."""
    lemma, percent, rest = key.rpartition("%")
    for one in rest.split(";") if percent else [key]:
        if one != _NO_SENSE:
            yield f"{lemma}{percent}{one}"


def _part(key: str) -> str | None:
    """The part of speech of a WordNet key."""
    number, colon, _ = key.rpartition("%")[2].partition(":")
    return _CLASSES.get(number) if colon else None


def _strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)

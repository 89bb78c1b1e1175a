"""Sentences with their vectors on the way into a database."""

from collections.abc import Iterator, Sequence
from typing import LiteralString, NamedTuple, cast

import numpy as np

from polyseme.arrays import HalfVectors, Numbers, Vectors
from polyseme.index.places import Place
from polyseme.index.postgres.codec import NOTHING, key, occurrence_rows, to_text
from polyseme.index.postgres.connection import Connection, Row
from polyseme.index.vectors import unit

_REMEMBERED = 1_000_000
"""Words whose numbers are remembered."""
_SENTENCE: LiteralString = "sentence (id, tokens, file, line, document, name, label) FROM STDIN (FORMAT BINARY)"
_OCCURRENCE: LiteralString = (
    "occurrence (id, sentence, position, word, document, label, embedding) FROM STDIN (FORMAT BINARY)"
)
_TYPES = ("int8", "text[]", "int4", "int4", "int4", "text", "int4")
_NEW_WORDS: LiteralString = (
    "INSERT INTO word (word, key, folded) SELECT * FROM unnest(%s::text[], %s::bytea[], %s::bytea[]) "
    "ON CONFLICT (key) DO NOTHING"
)
_NEW_SOURCES: LiteralString = (
    "INSERT INTO source (name, key) SELECT * FROM unnest(%s::text[], %s::bytea[]) ON CONFLICT (key) DO NOTHING"
)


class _Held(NamedTuple):
    """A sentence that waits: its tokens, the positions that are kept, and where it came from."""

    tokens: list[str]
    positions: list[int]
    place: Place


class Batch:
    """Gathers sentences and stores them.

    Args:
        connection: To the database.
        dim: The width of the vectors.
        counts: Sentences of the text that are done; sentences and occurrences that the run has stored.
        start: Sentences and occurrences of the index before the run.
        append: Whether they are stored beside the index, to be added later.

    Attributes:
        done: Sentences of the text that are stored or held.
        occurrences: How many the run has stored.
        held_bytes: Memory that the vectors take.
    """

    def __init__(
        self,
        connection: Connection,
        dim: int,
        counts: tuple[int, int, int],
        start: tuple[int, int],
        *,
        append: bool,
    ) -> None:
        self._connection, self._dim, self._append, self._start = connection, dim, append, start
        self.done, self._sentences, self.occurrences = counts
        self.held_bytes = 0
        self._held: list[_Held] = []
        self._vectors: list[HalfVectors] = []
        self._words: dict[str, int] = {}
        self._sources: dict[str, int] = {}

    def add(self, number: int, tokens: Sequence[str], positions: Sequence[int], rows: Vectors, place: Place) -> None:
        """Take in a sentence with the vectors (len(positions), D) of the occurrences that were chosen in it."""
        self.done = number + 1
        if positions:
            self._held.append(_Held([*tokens], [*positions], place))
            self._vectors.append(unit(rows).astype(np.float16))
            self.held_bytes += self._vectors[-1].nbytes

    def store(self, run: int) -> None:
        """Store what is held, and how far the run with this number came with it, in one transaction."""
        sentences = self._sentences + len(self._held)
        occurrences = self.occurrences + sum(len(one.positions) for one in self._held)
        prefix: LiteralString = "COPY new_" if self._append else "COPY "
        with self._connection.transaction():
            if self._held:
                self._number_texts()
                self._connection.copy_rows(prefix + _SENTENCE, _TYPES, self._sentence_rows())
                vectors = np.concatenate(self._vectors)
                self._connection.copy(prefix + _OCCURRENCE, occurrence_rows(self._occurrence_numbers(), vectors))
            self._connection.rows(
                "UPDATE run SET done = %s, sentences = %s, occurrences = %s WHERE id = %s",
                *(self.done, sentences, occurrences, run),
            )
        self._sentences, self.occurrences, self.held_bytes = sentences, occurrences, 0
        self._held, self._vectors = [], []
        if len(self._words) > _REMEMBERED:
            self._words = {}

    def _number_texts(self) -> None:
        """Let every word, file, document and label that is held have its number."""
        words = dict.fromkeys(one.tokens[position] for one in self._held for position in one.positions)
        if new := [word for word in words if word not in self._words]:
            keys = [key(word) for word in new]
            folded = [key(word.casefold()) for word in new]
            self._connection.rows(_NEW_WORDS, [to_text(word) for word in new], keys, folded)
            found = self._connection.rows("SELECT key, id FROM word WHERE key = ANY(%s)", keys)
            self._words |= _numbered(new, keys, found)
        places = [one.place for one in self._held]
        names = dict.fromkeys(name for place in places for name in (place.file, place.document, place.label))
        if added := [name for name in names if name is not None and name not in self._sources]:
            keys = [key(name) for name in added]
            self._connection.rows(_NEW_SOURCES, [to_text(name) for name in added], keys)
            found = self._connection.rows("SELECT key, id FROM source WHERE key = ANY(%s)", keys)
            self._sources |= _numbered(added, keys, found)

    def _sentence_rows(self) -> Iterator[tuple[object, ...]]:
        for number, (tokens, _, place) in enumerate(self._held, self._start[0] + self._sentences):
            file, document, label = (self._source(name) for name in (place.file, place.document, place.label))
            name = None if place.name is None else to_text(place.name)
            yield number, [to_text(token) for token in tokens], file, place.line, document, name, label

    def _occurrence_numbers(self) -> Numbers:
        """(N, 6) id, sentence, position, word, document and label."""
        rows = []
        for number, (tokens, positions, place) in enumerate(self._held, self._start[0] + self._sentences):
            source, label = self._source(place.source), self._source(place.label)
            rows += [(0, number, position, self._words[tokens[position]], source, label) for position in positions]
        numbers = np.array(rows, dtype=np.int64)
        numbers[:, 0] = np.arange(len(rows)) + self._start[1] + self.occurrences
        return numbers

    def _source(self, name: str | None) -> int:
        return NOTHING if name is None else self._sources[name]


def _numbered(texts: list[str], keys: list[bytes], found: list[Row]) -> dict[str, int]:
    """Texts with their numbers, from rows of a key and a number."""
    numbers = {digest: cast("int", number) for digest, number in found}
    return {text: numbers[digest] for text, digest in zip(texts, keys, strict=True)}

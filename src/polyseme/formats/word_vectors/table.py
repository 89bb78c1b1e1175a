"""A table of word vectors that grows while its file is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import FormatError
from polyseme.models.static import WordVectors

# With a larger share of words that are not UTF-8, the file is in another encoding or damaged.
_MOST_REPAIRED = 0.3
_FIRST_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Header:
    """The first line of a word2vec file."""

    words: int
    dim: int


class GrowingTable:
    """Collects words and vectors; a word that occurs twice keeps its first vector.

    Args:
        dim: The width D of the vectors.
        name: The name of the file in messages.
        limit: Keep only this many words.
    """

    def __init__(self, dim: int, *, name: str, limit: int | None) -> None:
        self.lines = 0
        """Number of words read, including duplicates."""
        self._name = name
        self._limit = limit
        self._ids: dict[str, int] = {}
        self._matrix = np.empty((max(1, _FIRST_NUMBERS // dim), dim), dtype=np.float32)
        self._duplicates = 0
        self._repaired = 0

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return len(self._ids) == self._limit

    def add(self, words: Sequence[bytes], rows: Vectors) -> None:
        """Add words, none of which contains a line break, and their vectors."""
        first = len(self._ids)
        fresh: list[int] = []
        for row, word in enumerate(_decoded(words)):
            if self.full:
                break
            self.lines += 1
            self._repaired += "\ufffd" in word and word.encode() != words[row]
            if self._ids.setdefault(word, len(self._ids)) == first + len(fresh):
                fresh.append(row)
            else:
                self._duplicates += 1
        needed = first + len(fresh)
        if needed > len(self._matrix):
            # Resized in place: the system moves pages instead of copying, so the table is never in memory twice.
            self._matrix.resize((max(needed, len(self._matrix) * 5 // 4), self._matrix.shape[1]), refcheck=False)
        self._matrix[first:needed] = rows[: len(fresh)] if fresh == list(range(len(fresh))) else rows[fresh]

    def finish(self, source: str) -> WordVectors:
        """The table of the words and vectors that were added."""
        if self._repaired > _MOST_REPAIRED * self.lines:
            raise FormatError(
                f"{self._name}: {self._repaired:,} of {self.lines:,} words are not UTF-8; convert the file to UTF-8 "
                "if it is in another encoding, or fetch it again"
            )
        self._matrix.resize((len(self._ids), self._matrix.shape[1]), refcheck=False)
        self._matrix.flags.writeable = False
        return WordVectors(self._ids, self._matrix, source=source, duplicates=self._duplicates, repaired=self._repaired)


def _decoded(words: Sequence[bytes]) -> list[str]:
    if not words:
        return []
    try:
        return b"\n".join(words).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return [word.decode("utf-8", "replace") for word in words]

"""Static word vectors: one vector per word, whatever its context. Shapes: V words, D dim."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import InputError
from polyseme.text.table_words import find_row

# Rows read together, so that sums over a table that is mapped from disk need little memory.
_BLOCK = 1 << 16


class WordVectors:
    """Words and their vectors.

    Args:
        words: Each once.
        matrix: (V, D), the vector of each word; it must not be changed afterwards.
        source: What the vectors were read from, for people.
        duplicates: Words that were left out because they had come before.
        repaired: Words that were not UTF-8 and hold U+FFFD instead.
    """

    def __init__(
        self,
        words: Iterable[str],
        matrix: Vectors,
        *,
        source: str = "words and a matrix",
        duplicates: int = 0,
        repaired: int = 0,
    ) -> None:
        self.words = tuple(words)
        # A mapped file comes as a subclass of array that is slower to index.
        self.matrix = np.asarray(matrix)
        self.source = source
        self.duplicates = duplicates
        self.repaired = repaired
        if self.matrix.ndim != 2 or self.matrix.dtype != np.float32 or len(self.matrix) != len(self.words):
            raise InputError(
                f"got {len(self.words):,} words and a {self.matrix.dtype} matrix of shape {self.matrix.shape}; "
                f"expected float32 of shape ({len(self.words)}, dim)"
            )
        if not self.matrix.size:
            raise InputError(
                f"got word vectors of shape {self.matrix.shape}; expected at least one word and one number"
            )
        self._ids = dict(zip(self.words, range(len(self.words)), strict=True))
        if len(self._ids) < len(self.words):
            twice = next(word for row, word in enumerate(self.words) if self._ids[word] != row)
            raise InputError(f"the word {twice!r} occurs twice; expected each word once")

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def find(self, word: str, *, case_backoff: bool = True) -> int | None:
        """The row of a word, or None.

        Args:
            word: The word.
            case_backoff: Where the word itself is not there, try it in lower case, with only its first letter in upper
                case, and all in upper case, in this order: *The* finds *the*, *london* finds *London*, *usa* *USA*.
        """
        return find_row(self._ids, word, case_backoff=case_backoff)

    @cached_property
    def mean(self) -> Vectors:
        """(D), the mean of all vectors."""
        sums = [block.sum(axis=0, dtype=np.float64) for block in self._blocks()]
        return np.asarray(np.sum(sums, axis=0) / len(self.words), dtype=np.float32)

    @cached_property
    def scale(self) -> float:
        """The root of the mean square of all numbers."""
        return float(np.sqrt(np.mean(np.square(self._lengths, dtype=np.float64)) / self.dim))

    def nearest(self, vector: Vectors, k: int, *, leave_out: int | None = None) -> list[tuple[str, float]]:
        """The words whose vectors have the highest cosine similarity to a vector.

        Args:
            vector: (D), not all zeros.
            k: How many words.
            leave_out: A row that is never among the results.

        Returns:
            Words and cosines, nearest first; of equals the one earlier in the table.
        """
        if k < 1:
            raise InputError(f"k is {k}, expected at least 1")
        if vector.shape != (self.dim,):
            raise InputError(f"got a vector of shape {vector.shape}, expected ({self.dim},) as the table's are")
        # The largest number is taken out first, so that squares neither overflow nor vanish.
        largest = np.abs(vector).max()
        if not np.isfinite(largest) or not largest:
            raise InputError("got a vector of zeros, or with NaN or infinity in it; it has no direction")
        unit = vector / largest
        unit /= np.linalg.norm(unit)
        cosines = self.matrix @ unit  # (V)
        # A word of zeros has no direction: its product is 0 and stays 0.
        np.divide(cosines, self._lengths, out=cosines, where=self._lengths > 0)
        if leave_out is not None:
            cosines[leave_out] = -np.inf
        k = min(k, len(self.words) - (leave_out is not None))
        if not k:
            return []
        rows = np.flatnonzero(cosines >= -np.partition(-cosines, k - 1)[k - 1])  # all that equal the last one too
        rows = rows[np.lexsort((rows, -cosines[rows]))][:k]
        return [(self.words[row], float(np.clip(cosines[row], -1, 1))) for row in rows]

    @cached_property
    def _lengths(self) -> Vectors:
        """(V), the length of each vector."""
        return np.concatenate([np.sqrt(np.einsum("vd,vd->v", block, block)) for block in self._blocks()])

    def _blocks(self) -> Iterable[Vectors]:
        return (self.matrix[start : start + _BLOCK] for start in range(0, len(self.matrix), _BLOCK))

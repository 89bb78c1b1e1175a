"""The occurrences of an index by their number, from 0 in the order of the text."""

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.index.occurrence import Occurrence
from polyseme.index.store import Store


class Numbered:
    """Reads occurrences by number.

    Args:
        store: What the index is kept in.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, word: str, *, most: int | None = None) -> Numbers:
        """The occurrences of a word in any letter case; at most this many, spread evenly over the text."""
        every = self._store.numbers(word)
        if most is None or len(every) <= most:
            return every
        return every[np.unique(np.linspace(0, len(every) - 1, most).astype(np.int64))]

    def labels(self) -> list[str]:
        """The labels that texts were indexed with."""
        return self._store.labels()

    def documents(self) -> list[str]:
        """The documents of the occurrences; or files, where their source names no document."""
        return self._store.documents()

    def words(self, numbers: Numbers) -> list[str]:
        """The word of each."""
        return self._store.words(numbers)

    def vectors(self, numbers: Numbers) -> Vectors:
        """The unit vectors (n, D), as they are stored."""
        return self._store.vectors(numbers)

    def read(self, numbers: Numbers, similarities: Vectors | None = None) -> list[Occurrence]:
        """Each in its sentence, with its number and its similarity, 1 by default."""
        near = np.ones(len(numbers), dtype=np.float32) if similarities is None else similarities
        found = self._store.read(numbers, near)
        return [one._replace(number=int(number)) for one, number in zip(found, numbers, strict=True)]

    def one(self, number: int) -> Occurrence:
        """One of them in its sentence."""
        return self.read(np.array([number], dtype=np.int64))[0]

"""What a task model reads of a word itself: the number of its learned vector, its case and its characters."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyseme.text.characters import ByteCharacters

UNKNOWN = 0
"""The number of every word without a learned vector of its own."""
CASES = 7
_CHARACTERS = ByteCharacters(32)  # bytes; ten Chinese characters, and all but the longest words


@dataclass(frozen=True)
class WordRows:
    """Some distinct words as numbers."""

    words: Sequence[str]
    ids: NDArray[np.int64]
    """(U,) of the learned vectors."""
    cases: NDArray[np.int64]
    """(U,)"""
    characters: NDArray[np.int64]
    """(U, C)"""


class Lexicon:
    """The words that have a learned vector, lower-cased, most frequent first.

    Args:
        words: Each once; they get the numbers from 1 on.

    Example:
        >>> Lexicon.of([("The", "bank"), ("the", "river")], min_count=2).rows(["THE", "bank"]).ids
        array([1, 0])
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words, 1)}

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], *, min_count: int) -> "Lexicon":
        """The words of some text that occur often enough."""
        counts = Counter(token.lower() for sentence in sentences for token in sentence)
        return cls(word for word, count in counts.most_common() if count >= min_count)

    def __len__(self) -> int:
        return len(self.words)

    def rows(self, words: Sequence[str]) -> WordRows:
        """Words as numbers."""
        return WordRows(
            words,
            np.array([self._ids.get(word.lower(), UNKNOWN) for word in words], dtype=np.int64),
            np.array([case_of(word) for word in words], dtype=np.int64),
            _CHARACTERS.ids(words),
        )


def case_of(word: str) -> int:
    """Which of the `CASES` a word has.

    Example:
        >>> [case_of(word) for word in ("bank", "Bank", "BANK", "iPhone", "1984", "b2b", "...")]
        [1, 2, 3, 4, 5, 6, 0]
    """
    if word.isdigit():
        return 5
    if any(character.isdigit() for character in word):
        return 6
    if word.islower():
        return 1
    if word.isupper():
        return 3 if len(word) > 1 else 2
    if word[:1].isupper() and word[1:].islower():
        return 2
    return 4 if word.lower() != word else 0

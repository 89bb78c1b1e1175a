"""Which row of a table of word vectors belongs to a word."""

import json
from collections.abc import Mapping, Sequence

import numpy as np

from polyseme.text.characters import Ids


def find_row(rows: Mapping[str, int], word: str, *, case_backoff: bool) -> int | None:
    """The row of a word, or None.

    Args:
        rows: The row of each word.
        word: The word.
        case_backoff: Where the word itself is not there, try it in lower case, with only its first letter in upper
            case, and all in upper case, in this order: *The* finds *the*, *london* finds *London*, *usa* *USA*.
    """
    row = rows.get(word)
    if row is None and case_backoff:
        for change in (str.lower, str.capitalize, str.upper):
            row = rows.get(change(word))
            if row is not None:
                break
    return row


def fits_a_line(word: str) -> bool:
    """Whether a text file can hold the word as one line: it has no line break and no half of a surrogate pair."""
    return "\n" not in word and (word.isascii() or not any("\ud800" <= character <= "\udfff" for character in word))


class TableWords:
    """One id per word: its row in a table of vectors. Words without a vector share the id after the last row.

    Args:
        words: The words in the order of the table, each once.
        case_backoff: Whether another case of a word will do; see `find_row`.
    """

    def __init__(self, words: Sequence[str], *, case_backoff: bool) -> None:
        self.words = tuple(words)
        self.case_backoff = case_backoff
        self.width = 1
        self._rows = {word: row for row, word in enumerate(self.words)}
        self.boundaries: Ids = np.full((2, 1), len(self.words), dtype=np.int64)  # sentences come without markers

    def ids(self, words: Sequence[str]) -> Ids:
        """The row of each word: (U, 1)."""
        found = (find_row(self._rows, word, case_backoff=self.case_backoff) for word in words)
        unknown = len(self.words)
        return np.array([unknown if row is None else row for row in found], dtype=np.int64).reshape(-1, 1)

    def tables(self) -> str:
        """The words in their order, and whether another case will do."""
        return json.dumps([self.case_backoff, *self.words])

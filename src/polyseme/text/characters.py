"""Turns words into the ids that a token encoder reads.

An indexer gives every word one row of integers. For a byte model that row is the word's characters; if a model also
has word vectors, the word's own id comes first.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import FormatError

Ids = NDArray[np.int64]

BEGIN_SENTENCE = "<S>"
END_SENTENCE = "</S>"

# Byte ids as modules see them: bytes 0..255 and the markers, all shifted by one so that 0 can mask a token.
_BEGIN_SENTENCE_ID = 257
_END_SENTENCE_ID = 258
_BEGIN_WORD_ID = 259
_END_WORD_ID = 260
BYTE_PADDING_ID = 261
BYTE_CHARACTERS = 262


class Indexer(Protocol):
    """Turns words into ids."""

    width: int
    """Number of ids per word."""
    boundaries: Ids
    """(2, width): the markers of a sentence's beginning and end."""

    def ids(self, words: Sequence[str]) -> Ids:
        """The ids of each word: (U, width)."""

    def tables(self) -> str:
        """What the ids depend on apart from the width, as one string; empty if ids are the same in every model."""


class ByteCharacters:
    """UTF-8 bytes between a begin-of-word and an end-of-word marker, padded to a fixed length.

    Every word of every language has ids; bytes beyond the limit are dropped. ``<S>`` and ``</S>`` are the sentence
    markers.

    Example:
        >>> ByteCharacters().ids(["cat"])[0, :6]
        array([259, 100,  98, 117, 260, 261])
    """

    def __init__(self, max_characters: int = 50) -> None:
        self.width = max_characters
        self.boundaries = np.stack([self._marker(_BEGIN_SENTENCE_ID), self._marker(_END_SENTENCE_ID)])

    def ids(self, words: Sequence[str]) -> Ids:
        """The ids of each word: (U, C)."""
        result = np.full((len(words), self.width), BYTE_PADDING_ID, dtype=np.int64)
        result[:, 0] = _BEGIN_WORD_ID
        for row, word in zip(result, words, strict=True):
            if word == BEGIN_SENTENCE:
                row[:] = self.boundaries[0]
                continue
            if word == END_SENTENCE:
                row[:] = self.boundaries[1]
                continue
            encoded = np.frombuffer(word.encode("utf-8", "ignore"), dtype=np.uint8)[: self.width - 2]
            row[1 : 1 + len(encoded)] = encoded
            row[1 : 1 + len(encoded)] += 1
            row[1 + len(encoded)] = _END_WORD_ID
        return result

    def tables(self) -> str:
        """Return "": byte ids are the same in every model."""
        return ""

    def _marker(self, character: int) -> Ids:
        row = np.full(self.width, BYTE_PADDING_ID, dtype=np.int64)
        row[:3] = _BEGIN_WORD_ID, character, _END_WORD_ID
        return row


class UnicodeCharacters:
    """Code points looked up in a character table, with the word's own id first if there is a word table.

    Args:
        characters: Character to id, markers included.
        max_characters: Length of a row; a word is truncated to two less, and the truncated word is looked up.
        words: Word to id, markers included; None if the model has no word vectors.
        begin_word: The character put before a word.
        end_word: The character put after a word.
    """

    BEGIN_SENTENCE = "<bos>"
    END_SENTENCE = "<eos>"
    UNKNOWN = "<oov>"
    PADDING = "<pad>"

    def __init__(
        self,
        characters: Mapping[str, int],
        *,
        max_characters: int = 50,
        words: Mapping[str, int] | None = None,
        begin_word: str = "<bow>",
        end_word: str = "<eow>",
    ) -> None:
        markers = (self.BEGIN_SENTENCE, self.END_SENTENCE, self.UNKNOWN, self.PADDING, begin_word, end_word)
        missing = [marker for marker in markers if marker not in characters]
        if missing:
            raise FormatError(f"the character table lacks {', '.join(missing)}; it must hold {', '.join(markers)}")
        if words is not None and self.UNKNOWN not in words:
            raise FormatError(f"the word table lacks {self.UNKNOWN}, the id of all words that are not in it")
        self.characters = characters
        self.words = words
        self.begin_word, self.end_word = begin_word, end_word
        self.max_characters = max_characters
        self.width = max_characters + (words is not None)
        self.padding_id = characters[self.PADDING]
        self.boundaries = self.ids([self.BEGIN_SENTENCE, self.END_SENTENCE])

    def ids(self, words: Sequence[str]) -> Ids:
        """The ids of each word: (U, C) or (U, 1 + C)."""
        result = np.full((len(words), self.width), self.padding_id, dtype=np.int64)
        table, unknown = self.characters, self.characters[self.UNKNOWN]
        begin, end = table[self.begin_word], table[self.end_word]
        first = self.width - self.max_characters
        for row, word in zip(result, words, strict=True):
            cut = word[: self.max_characters - 2]
            if self.words is not None:
                row[0] = self.words.get(cut, self.words[self.UNKNOWN])
            if cut in (self.BEGIN_SENTENCE, self.END_SENTENCE):
                inner = [table[cut]]
            else:
                inner = [table.get(character, unknown) for character in cut]
            row[first : first + len(inner) + 2] = [begin, *inner, end]
        return result

    def tables(self) -> str:
        """Both tables, and the markers before and after a word."""
        words = None if self.words is None else sorted(self.words.items())
        return json.dumps([sorted(self.characters.items()), words, self.begin_word, self.end_word])


class WholeWords:
    """One id per word, for models whose input is a table of word vectors.

    Args:
        words: Word to id; must contain ``<S>``, ``</S>`` and ``<UNK>``.
    """

    UNKNOWN = "<UNK>"

    def __init__(self, words: Mapping[str, int]) -> None:
        markers = (BEGIN_SENTENCE, END_SENTENCE, self.UNKNOWN)
        missing = [marker for marker in markers if marker not in words]
        if missing:
            raise FormatError(f"the vocabulary lacks {', '.join(missing)}; it must hold {', '.join(markers)}")
        self.words = words
        self.width = 1
        self.boundaries = self.ids([BEGIN_SENTENCE, END_SENTENCE])

    def ids(self, words: Sequence[str]) -> Ids:
        """The id of each word: (U, 1)."""
        unknown = self.words[self.UNKNOWN]
        return np.array([[self.words.get(word, unknown)] for word in words], dtype=np.int64).reshape(-1, 1)

    def tables(self) -> str:
        """The words with their ids."""
        return json.dumps(sorted(self.words.items()))

"""Words of one's own for the Chinese tokeniser: the names of a novel, the terms of a trade."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

from polyseme.errors import InputError

# A line of jieba's user dictionaries: a word, perhaps its frequency, perhaps its part of speech.
_LINE = re.compile(r"(\S+)(?:\s+[0-9]+)?(?:\s+[a-z]{1,4})?")
_FIRST_WIDE = "\u2e80"  # from here on come Chinese characters and their like


class Dictionary:
    """Words that are kept whole, wherever they stand.

    Where two of them overlap in a text, the one that begins first is taken, and of those the longest. A word of letters
    (Latin, Greek, Cyrillic) or digits is not found within a longer one.

    Args:
        words: Without whitespace, which is never within a token.

    Attributes:
        words: As given, each once, sorted.

    Example:
        >>> Dictionary(["曹操", "操"]).cut("却说曹操大败。操大怒", list)
        ['却', '说', '曹操', '大', '败', '。', '操', '大', '怒']
    """

    def __init__(self, words: Iterable[str]) -> None:
        if isinstance(words, str):
            raise InputError(f"words is the one string {words!r} where a list of words is expected: [word]")
        self._words = frozenset(words)
        self.words = sorted(self._words)
        if not self.words:
            raise InputError("a dictionary without words; give at least one, or no dictionary")
        lengths: dict[str, set[int]] = {}
        for word in self.words:
            if word.split() != [word]:
                raise InputError(f"the word {word!r} of a dictionary is empty or holds whitespace; give one word")
            lengths.setdefault(word[0], set()).add(len(word))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    @classmethod
    def read(cls, path: str | Path) -> "Dictionary":
        """Read a file of words, one a line; blank lines are passed over.

        Files for jieba serve as they are: a frequency and a part of speech after a word play no part.
        """
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}: the dictionary cannot be read ({error}); give UTF-8 text, a word a line"
            ) from error
        words = []
        for number, line in enumerate(lines, 1):
            if not (text := line.strip()):
                continue
            entry = _LINE.fullmatch(text)
            if entry is None:
                raise InputError(f"{path}:{number}: {text!r:.60} where one word is expected; write a word a line")
            words.append(entry[1])
        if not words:
            raise InputError(f"{path}: no words in it; write a word a line, or give no dictionary")
        return cls(words)

    def __str__(self) -> str:
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=4).hexdigest()
        return f"{len(self.words):,} words ({digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dictionary) and self._words == other._words

    def __hash__(self) -> int:
        return hash(self._words)

    def cut(self, text: str, rest: Callable[[str], list[str]]) -> list[str]:
        """Part a text at the words of the dictionary.

        Args:
            text: What to part.
            rest: Parts what stands before, between and after them.
        """
        pieces: list[str] = []
        start = at = 0
        while at < len(text):
            length = self._length(text, at)
            if length and start < at:
                pieces += rest(text[start:at])
            if length:
                pieces.append(text[at : at + length])
                start = at + length
            at += length or 1
        return pieces + rest(text[start:]) if start < len(text) else pieces

    def _length(self, text: str, at: int) -> int:
        """Of the word that begins here; 0 where none does."""
        for length in self._lengths.get(text[at], ()):
            end = at + length
            if text[at:end] in self._words and not (within_word(text, at) or within_word(text, end)):
                return length
        return 0


def within_word(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place are letters, marks or digits, and no Chinese characters."""
    around = text[at - 1 : at + 1] if at else ""
    return len(around) == 2 and all(
        (one.isalnum() or unicodedata.combining(one)) and one < _FIRST_WIDE for one in around
    )

"""A user's own words for text without spaces between words, such as the names in a novel or the terms of a field."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

from polyseme.errors import InputError
from polyseme.files.text_file import read_text
from polyseme.progress.figures import counted

# A line of jieba's user dictionaries: a word, optionally its frequency, optionally its part of speech.
_LINE = re.compile(r"(\S+)(?:\s+[0-9]+)?(?:\s+[a-z]{1,4})?")
# Letters of scripts that put spaces between words. Chinese and similar characters begin at U+2E80; before them are
# Thai, Lao, Burmese and Khmer.
_SPACED = re.compile("[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u2e80-\U0010ffff]")


class Dictionary:
    """Words that the tokeniser keeps whole.

    If two of them overlap in a text, the one that begins first is used, and the longest of those. A word of letters
    (Latin, Greek, Cyrillic) or digits is not recognised inside a longer one.

    Args:
        words: The words, none of which may contain whitespace.

    Attributes:
        words: The words, sorted, without duplicates.

    Example:
        >>> Dictionary(["曹操", "操"]).cut("却说曹操大败。操大怒", list)
        ['却', '说', '曹操', '大', '败', '。', '操', '大', '怒']
    """

    def __init__(self, words: Iterable[str]) -> None:
        if isinstance(words, str):
            raise InputError(f"words is the single string {words!r}, but a list of words is expected: [word]")
        self._words = frozenset(words)
        self.words = sorted(self._words)
        if not self.words:
            raise InputError("the dictionary has no words; give at least one word, or no dictionary")
        lengths: dict[str, set[int]] = {}
        for word in self.words:
            if word.split() != [word]:
                raise InputError(f"the word {word!r} of a dictionary is empty or contains whitespace; give one word")
            lengths.setdefault(word[0], set()).add(len(word))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    @classmethod
    def read(cls, path: str | Path) -> "Dictionary":
        """Read a file with one word per line; blank lines are skipped.

        jieba's user dictionaries can be read too: a frequency and a part of speech after a word are ignored.
        """
        try:
            lines = read_text(Path(path)).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}: the dictionary cannot be read ({error}); give UTF-8 text, one word per line"
            ) from error
        words = []
        for number, line in enumerate(lines, 1):
            if not (text := line.strip()):
                continue
            entry = _LINE.fullmatch(text)
            if entry is None:
                raise InputError(f"{path}:{number}: got {text!r:.60}, expected one word; write one word per line")
            words.append(entry[1])
        if not words:
            raise InputError(f"{path}: contains no words; write one word per line, or give no dictionary")
        return cls(words)

    def __str__(self) -> str:
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=4).hexdigest()
        return f"{counted(len(self.words), 'word')} ({digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dictionary) and self._words == other._words

    def __hash__(self) -> int:
        return hash(self._words)

    def cut(self, text: str, rest: Callable[[str], list[str]]) -> list[str]:
        """Split a text at the words of the dictionary.

        Args:
            text: The text to split.
            rest: Splits the text before, between and after the words.
        """
        pieces: list[str] = []
        start = at = 0
        while at < len(text):
            length = self._match_length(text, at)
            if length and start < at:
                pieces += rest(text[start:at])
            if length:
                pieces.append(text[at : at + length])
                start = at + length
            at += length or 1
        return pieces + rest(text[start:]) if start < len(text) else pieces

    def _match_length(self, text: str, at: int) -> int:
        """Return the length of the word that begins at this position; 0 if none does."""
        for length in self._lengths.get(text[at], ()):
            end = at + length
            if text[at:end] in self._words and not (within_word(text, at) or within_word(text, end)):
                return length
        return 0


def within_word(text: str, at: int) -> bool:
    """Whether the characters on both sides of a position are letters, marks or digits of a script with spaces."""
    around = text[at - 1 : at + 1] if at else ""
    return len(around) == 2 and all(
        (one.isalnum() or unicodedata.combining(one)) and _SPACED.match(one) for one in around
    )

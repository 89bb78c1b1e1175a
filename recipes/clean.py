"""Decides which sentences to train on, and gives the reason for leaving out the others."""

import hashlib
import re
from collections.abc import Callable, Sequence

SHORTEST, LONGEST = 3, 200  # tokens

_MARKUP = re.compile(r"</|/>|\{\{|\}\}|\[\[|\]\]|::|\\\w|://|^[|>]|^={2,}|ProjectGutenberg|�|\w`|`\w|&\w+;")
_REPEATED_SIGNS = re.compile(r"([^\w\s])\1{4,}|_{3,}")
_LETTER = re.compile(r"[^\W\d_]")
_FOREIGN_LETTER = re.compile(r"[^\W\d_\x00-\x7f]")
_NAME_IN_CODE = re.compile(r"\w_\w|\w\(\)")
_PUNCTUATION = frozenset(".,;:!?'\"()-–—…‘’“”，。；：！？、（）《》〈〉「」『』～·") | {"--", "...", "''", "``"}
_CJK = re.compile(r"[㐀-鿿豈-﫿\U00020000-\U0003ffff]")
_SIGN_ONLY = re.compile(r"[\W\d_]+")
# The most frequent function words: almost every longer English sentence has one, almost no foreign sentence does.
_ENGLISH = frozenset(
    re.findall(
        r"\w+",
        """the of and to a in that is was it for with as his he be on i by at which not have from this you are
        or had her but they an were we my all him their she one me so there no if who when your has will
        what them would been our can do its more any other than into some could then out up about only these
        those how us where did may such should""",
    )
)
_WORDS_A_FUNCTION_WORD = 12  # a sentence needs one function word per this many words
_FEW_WORDS = 10  # shorter sentences need none
_MOST_FOREIGN = 0.2  # of the letters


def english_fault(tokens: Sequence[str]) -> str | None:
    """The reason to leave out an English sentence; None if it is kept.

    Example:
        >>> english_fault("Arma virumque cano Troiae qui primus ab oris Italiam fato profugus .".split())
        'not English'
    """
    if fault := _fault(tokens):
        return fault
    words = [token for token in tokens if _LETTER.search(token)]
    if 2 * len(words) < sum(token not in _PUNCTUATION for token in tokens) or not words:
        return "mostly digits or signs"
    letters = "".join(words)
    if letters.upper() == letters:
        return "heading"
    if _NAME_IN_CODE.search("".join(tokens)):
        return "markup"
    if len(_FOREIGN_LETTER.findall(letters)) > _MOST_FOREIGN * len(letters):
        return "not English"
    if len(words) >= _FEW_WORDS:
        known = sum(word.lower() in _ENGLISH for word in words)
        if known * _WORDS_A_FUNCTION_WORD < len(words):
            return "not English"
    return None


def chinese_fault(tokens: Sequence[str]) -> str | None:
    """The reason to leave out a Chinese sentence; None if it is kept.

    Example:
        >>> chinese_fault(["电话", "13800138000", "-", "2", "-", "1"])
        'mostly digits or signs'
    """
    if fault := _fault(tokens):
        return fault
    words = [token for token in tokens if token not in _PUNCTUATION]
    signs = sum(bool(_SIGN_ONLY.fullmatch(word)) for word in words)
    if 2 * signs > len(words) or not words:
        return "mostly digits or signs"
    if 2 * sum(bool(_CJK.search(word)) for word in words) < len(words) - signs:
        return "not Chinese"
    return None


def _fault(tokens: Sequence[str]) -> str | None:
    if len(tokens) < SHORTEST:
        return "too short"
    if len(tokens) > LONGEST:
        return "too long"
    line = "".join(tokens)
    if _MARKUP.search(line) or _REPEATED_SIGNS.search(line):
        return "markup"
    return None


FAULTS: dict[str, Callable[[Sequence[str]], str | None]] = {"en": english_fault, "zh": chinese_fault}


class Seen:
    """Recognises lines seen before by eight bytes of a hash; errors are rare even in billions of lines."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __call__(self, line: str) -> bool:
        """Whether the line was seen before; also marks it as seen."""
        key = int.from_bytes(hashlib.blake2b(line.encode("utf-8"), digest_size=8).digest(), "little")
        before = len(self._hashes)
        self._hashes.add(key)
        return len(self._hashes) == before

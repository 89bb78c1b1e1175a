"""Judges from the beginning of a text whether it is raw or already tokenised, and in which language."""

import re
from typing import Literal

from polyseme.text.abbreviations import ANYWHERE, BEFORE_A_NAME, BEFORE_A_NUMBER

Look = Literal["cut", "english", "chinese", "raw", "unknown"]
"""``cut``: already tokenised. ``english``, ``chinese``, ``raw`` (other languages): raw text. ``unknown``: unclear."""
RAW: frozenset[Look] = frozenset(("english", "chinese", "raw"))

_HAN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LONGEST_CUT_RUN = 4.0
"""Chinese words have fewer than two characters on average, but the text between two spaces of raw text many more."""
_MOSTLY = 0.3
# A comma or period at the end of a word of two letters or more, with or without a closing quote or bracket. Other marks
# are no evidence: raw French puts a space before them.
_GLUED = re.compile(r"\W*(?P<word>\w*[^\W\d_]{2})[.,][\"'”’»)\]]*")
_APART = frozenset((",", "."))
_ABBREVIATIONS = BEFORE_A_NAME | BEFORE_A_NUMBER | ANYWHERE
_LEAST_GLUED = 0.02  # share of the strings between spaces; raw prose has ten times as many
# English words that are not also words of related languages, as "in", "was" and "is" are.
_ENGLISH_WORDS = (
    "the and of to that with his you this have from they which were she but not are been would their what there it by "
    "be or your will"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_LEAST_ENGLISH = 0.07


def look_at(text: str) -> Look:
    """Judge a text by its beginning.

    Example:
        >>> look_at("It was late, and the bank was closed."), look_at("It was late , and the bank was closed .")
        ('english', 'cut')
    """
    chunks = text.split()
    characters = sum(map(len, chunks))
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if han + kana > _MOSTLY * characters:
        runs = sum(1 for chunk in chunks if _HAN.search(chunk) or _KANA.search(chunk))
        if han + kana <= _LONGEST_CUT_RUN * runs:
            return "cut"
        return "raw" if kana > _MOSTLY * han else "chinese"
    apart = sum(chunk in _APART for chunk in chunks)
    glued = sum(match["word"] not in _ABBREVIATIONS for match in map(_GLUED.fullmatch, chunks) if match is not None)
    if apart > glued:
        return "cut"
    if not glued or glued < _LEAST_GLUED * len(chunks):
        return "unknown"
    english = sum(chunk.lower() in _ENGLISH for chunk in chunks)
    return "english" if english >= _LEAST_ENGLISH * len(chunks) else "raw"

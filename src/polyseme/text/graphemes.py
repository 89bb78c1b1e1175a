"""Splits text into what a reader sees as characters: a base with its combining marks, an emoji with all its parts."""

import re
import unicodedata
from itertools import groupby


def _ranges(codes: list[int]) -> str:
    """Write code points as the inside of a regular expression's character class."""
    runs = ([code for _, code in run] for _, run in groupby(enumerate(codes), key=lambda pair: pair[1] - pair[0]))
    return "".join(rf"\U{run[0]:08x}-\U{run[-1]:08x}" for run in runs)


# Code points that belong to the character before them: combining marks and variation selectors (Mn, Mc, Me), joiners,
# soft hyphens and other invisible formatting (Cf). Unicode has assigned none between the two ranges.
MARKS = _ranges(
    [
        code
        for code in (*range(0x80, 0x1F000), *range(0xE0000, 0xE0200))
        if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me", "Cf")
    ]
)
_EXTENSION = rf"[{MARKS}\U0001f3fb-\U0001f3ff]"  # marks and skin tones
_PICTURE = r"[\u2190-\u2bff\U0001f000-\U0001faff]"
_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
# Pictures joined by a zero-width joiner (a family, a profession) are one character.
GRAPHEME = rf"(?:{_FLAG}|\S){_EXTENSION}*(?:(?<=\u200d){_PICTURE}{_EXTENSION}*)*"

_graphemes = re.compile(GRAPHEME)
_not_single = re.compile(rf"{_EXTENSION}|{_FLAG}")


def graphemes(text: str) -> list[str]:
    """The characters of a text, without whitespace.

    Example:
        >>> graphemes("né 👩🏽‍🚀🇨🇭!")
        ['n', 'é', '👩🏽‍🚀', '🇨🇭', '!']
    """
    return _graphemes.findall(text)


def mend(pieces: list[str]) -> list[str]:
    """Join pieces of a text again if the boundary between them is inside a character."""
    text = "".join(pieces)
    if not _not_single.search(text):
        return pieces
    inside = {at for match in _graphemes.finditer(text) for at in range(match.start() + 1, match.end())}
    mended: list[str] = []
    start = 0
    for piece in pieces:
        if start in inside:
            mended[-1] += piece
        else:
            mended.append(piece)
        start += len(piece)
    return mended

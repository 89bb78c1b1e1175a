"""Tokenises any language at the word boundaries of Unicode (UAX #29).

Where a language puts spaces between its words, these are its words, numbers and punctuation marks. Chinese, Japanese
kana, Thai, Lao, Khmer and Burmese have no such boundaries: they become characters.
"""

import re
from collections.abc import Callable

import unicode_segmentation_rs

SURROGATE = re.compile("([\ud800-\udfff])")
"""Half of a UTF-16 pair: no text, and refused by libraries that take UTF-8."""


def unicode_words(sentence: str) -> list[str]:
    """The tokens of one sentence.

    Example:
        >>> unicode_words("L'été dernier, à 3,5 km d'Aix…")
        ["L'été", 'dernier', ',', 'à', '3,5', 'km', "d'Aix", '…']
    """
    return without_spaces(sentence, unicode_segmentation_rs.split_word_bounds)


def without_spaces(sentence: str, split: Callable[[str], list[str]]) -> list[str]:
    """The pieces of a sentence without whitespace; each surrogate, which the splitter would refuse, is a piece."""
    parts = [sentence] if sentence.isascii() else SURROGATE.split(sentence)
    # A piece may be a space with the combining mark after it.
    return [token for part in parts for piece in _pieces(part, split) for token in piece.split()]


def _pieces(part: str, split: Callable[[str], list[str]]) -> list[str]:
    return [part] if SURROGATE.match(part) else split(part)

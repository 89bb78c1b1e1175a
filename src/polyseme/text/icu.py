"""Tokenises languages without spaces between words by the dictionaries of ICU: Japanese, Thai, Khmer, Lao, Burmese."""

from functools import partial
from importlib.util import find_spec

from polyseme.errors import MissingPart
from polyseme.text.choices import Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.graphemes import mend
from polyseme.text.unicode_words import without_spaces

INSTALL = "pip install 'polyseme[languages]'"
NEEDED_BY: frozenset[Tokenizer | None] = frozenset(("ja", "th", "km", "lo", "my"))
"""The tokenisers that need ICU."""


def is_installed() -> bool:
    """Whether ICU is there."""
    return find_spec("icu4py") is not None


def icu_words(sentence: str, language: Tokenizer, dictionary: Dictionary | None = None) -> list[str]:
    """The tokens of one sentence.

    Args:
        sentence: The text.
        language: Its code, such as ``th``.
        dictionary: Words to keep whole; they come before those of ICU.

    Example:
        >>> icu_words("แม่รออยู่ในครัว", "th")
        ['แม่', 'รอ', 'อยู่', 'ใน', 'ครัว']
    """
    split = partial(_split, language=language)
    if dictionary is None:
        return without_spaces(sentence, split)
    return without_spaces(sentence, lambda text: mend(dictionary.cut(text, split)))


def _split(text: str, *, language: str) -> list[str]:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError as error:
        raise MissingPart(
            f"the tokenizer {language!r} needs the package icu4py, which is not installed: {INSTALL}; without it, "
            "--tokenize unicode gives characters"
        ) from error
    return list(WordBreaker(text, language))

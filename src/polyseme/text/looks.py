"""Judges from the beginning of a text whether it is raw or already tokenised, and in which language."""

import re
from typing import Literal

from polyseme.text.abbreviations import ANYWHERE, BEFORE_A_NAME, BEFORE_A_NUMBER
from polyseme.text.choices import Tokenizer

Look = Literal["cut", "english", "chinese", "japanese", "thai", "khmer", "lao", "burmese", "raw", "unknown"]
"""``cut``: already tokenised. ``english`` to ``burmese``: raw text. ``raw``: raw text of another language. ``unknown``:
it does not show."""
FITTING: dict[Look, Tokenizer] = {
    "english": "en",
    "chinese": "zh",
    "japanese": "ja",
    "thai": "th",
    "khmer": "km",
    "lao": "lo",
    "burmese": "my",
    "raw": "unicode",
}
"""The tokeniser for each kind of raw text."""
RAW: frozenset[Look] = frozenset(FITTING)

# Scripts without spaces between words, other than Chinese and Japanese. Tibetan has no tokeniser of its own.
_UNSPACED: tuple[tuple[Look, re.Pattern[str]], ...] = (
    ("thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("khmer", re.compile(r"[\u1780-\u17ff]")),
    ("lao", re.compile(r"[\u0e80-\u0eff]")),
    ("burmese", re.compile(r"[\u1000-\u109f]")),
    ("raw", re.compile(r"[\u0f00-\u0fff]")),
)
_LONGEST_UNSPACED_RUN = 8.0
"""Words of these have five characters on average, with their vowel signs; phrases between spaces have many more."""
_HAN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LONGEST_CUT_RUN = 4.0
"""Chinese words have fewer than two characters on average, but the text between two spaces of raw text many more."""
_MOSTLY = 0.3
# A comma or period at the end of a word of two letters or more, with or without a closing quote or bracket. Other marks
# are no evidence: raw French puts a space before them.
_GLUED = re.compile(r"\W*(?P<word>\w*[^\W\d_]{2})[.,][\"'”’»)\]]*")
# The marks of Arabic, Indic scripts, Armenian and Ethiopic, at the end of anything.
_GLUED_OTHER = re.compile(r"\S+[،؛؟۔।॥։።፣][\"'”’»)\]]*")
_APART = frozenset(",.،؛؟۔।॥։።፣")
_ABBREVIATIONS = BEFORE_A_NAME | BEFORE_A_NUMBER | ANYWHERE
_LEAST_GLUED = 0.02  # share of the strings between spaces; raw prose has ten times as many
# English words that are not also words of related languages, as "in", "was" and "is" are.
_ENGLISH_WORDS = (
    "the and of to that with his you this have from they which were she but not are been would their what there it by "
    "be or your will"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_LEAST_ENGLISH = 0.07
_LEAST_ASCII = 0.9  # of the letters: a naïve word or two may be among them


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
        return "japanese" if kana > _MOSTLY * han else "chinese"
    for look, script in _UNSPACED:
        if (found := len(script.findall(text))) > _MOSTLY * characters:
            runs = sum(1 for chunk in chunks if script.search(chunk))
            return "cut" if found <= _LONGEST_UNSPACED_RUN * runs else look
    return _spaced(chunks)


def _spaced(chunks: list[str]) -> Look:
    """Judge text of a script with spaces between words."""
    apart = sum(chunk in _APART for chunk in chunks)
    glued = sum(match["word"] not in _ABBREVIATIONS for match in map(_GLUED.fullmatch, chunks) if match is not None)
    glued += sum(1 for chunk in chunks if _GLUED_OTHER.fullmatch(chunk))
    if apart > glued:
        return "cut"
    if not glued or glued < _LEAST_GLUED * len(chunks):
        return "unknown"
    english = sum(chunk.lower() in _ENGLISH for chunk in chunks)
    return "english" if english >= _LEAST_ENGLISH * len(chunks) else "raw"


def language_of(text: str) -> Literal["english", "chinese"] | None:
    """The bundled language of a few words, by their letters alone; None if it is neither.

    Too little to judge more: whatever is written in the letters of English counts as English.

    Example:
        >>> language_of("我吃了一个苹果"), language_of("I ate an apple"), language_of("Я ел яблоко")
        ('chinese', 'english', None)
    """
    letters = [character for character in text if character.isalpha()]
    if _KANA.search(text) or not letters:
        return None
    if len(_HAN.findall(text)) > _MOSTLY * len(letters):
        return "chinese"
    return "english" if sum(map(str.isascii, letters)) >= _LEAST_ASCII * len(letters) else None

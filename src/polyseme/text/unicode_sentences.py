"""Splits a paragraph of any language into sentences, by the rules of Unicode (UAX #29) with three exceptions.

No sentence ends at the period of an abbreviation or an initial, at that of a number that more follows (3. Mai), nor at
a mark inside an address. Thai and Lao mark no sentence ends: a paragraph is one sentence.
"""

import re

import unicode_segmentation_rs

from polyseme.text.abbreviations import BEFORE_A_NAME
from polyseme.text.unicode_words import SURROGATE

# Titles and the like that are written before a name or a number in several languages.
_OTHERS = (
    "Hr Frl Nr Bd Abb Str bzw Sr Sra Srta Dña Mgr cap pág págs núm Sig dott avv ing geom dhr mevr drs gen płk ks św ul "
    "им ул тов гр проф акад стр гл рис св пос обл"
)
_ABBREVIATIONS = BEFORE_A_NAME | frozenset(_OTHERS.split())
_GOES_ON = re.compile(
    r"(?:^|[\s(«„“\"'‘-])(?:(?P<word>[^\W\d_]+)|(?P<dotted>[^\W\d_](?:\.[^\W\d_])*)|(?P<number>\d{1,2}))\.\s*$"
)
_INSIDE_ADDRESS = re.compile(r"[?!.]$")


def unicode_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; joined together, they are the paragraph.

    Example:
        >>> unicode_sentences("Herr Dr. Wolf kam am 3. Mai. Wo war er? Daheim!")
        ['Herr Dr. Wolf kam am 3. Mai. ', 'Wo war er? ', 'Daheim!']
    """
    if SURROGATE.search(paragraph):
        return [paragraph]
    sentences: list[str] = []
    start = at = 0
    for sentence in unicode_segmentation_rs.unicode_sentences(paragraph):
        # Sentences without letters or digits are left out of the list: they begin the one after them.
        at = paragraph.index(sentence, at) + len(sentence)
        if at < len(paragraph) and not _ends(sentence, paragraph[at]):
            continue
        sentences.append(paragraph[start:at])
        start = at
    if start < len(paragraph):
        sentences.append(paragraph[start:])
    return sentences


def _ends(sentence: str, following: str) -> bool:
    """Whether a sentence ends where Unicode's rules end it."""
    if _INSIDE_ADDRESS.search(sentence):
        return not following.isalnum()
    last = _GOES_ON.search(sentence[-40:])
    if last is None:
        return True
    return not (last["number"] or last["dotted"] or len(last["word"]) == 1 or last["word"] in _ABBREVIATIONS)

"""Splits an English paragraph into sentences.

A sentence ends at a period, a question or exclamation mark or an ellipsis, with the closing quotes and brackets after
it, if the next word may begin a sentence. Sentences in a quotation are sentences of their own. Periods of
abbreviations, initials and list numbers do not end a sentence unless the next word is one that often begins a sentence.
"""

import re

from polyseme.text.abbreviations import ANYWHERE, BEFORE_A_NAME, BEFORE_A_NUMBER

_CLOSING = r"[\"'”’)\]}»]*(?:\[\d{1,3}\])*"  # and marks of footnotes: [1]
_FACE = r"(?:\s+[:;=][-'^]?[()DPp]+(?=\s|$))*"
# It begins with one class of characters, which makes the search for it fast.
_END = re.compile(rf"(?P<stop>[.!?…]+)(?:(?P<closed>{_CLOSING})(?=\s|$){_FACE}|(?P<glued>)(?=[A-Z][a-z]))")
_GLUED = re.compile(r"[a-z]{2}")  # the space after the stop is missing: "It ended.Then"
_ADDRESS = re.compile(r"://|www\.|@")
_NEXT = re.compile(r"\s*(?P<opened>[\"'“‘(\[{«*_]*)(?P<word>\w[^\s.,;:!?]*)?")
_GOES_ON = re.compile(r"\s*[-–—.!?…,;:)\]}]")
_LABEL = re.compile(r"\W*(?:\d{1,3}|[A-Za-z]|[IVXivx]{1,5})")  # of a list: 1. or (a. or IV.
_LONGEST_LABEL = 10
_LONGEST_NAME = 64  # of a mail address: First.Last@example.org
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")  # U.S, p.m
_WORD = re.compile(r"\w")
_OFTEN_FIRST = (
    "The This That These Those A An I You He She It We They My Your His Her Its Our Their There Here What Which Who "
    "When Where Why How If In On At By For From To With As And But Or Nor So Yet Then Now After Before During While "
    "Although Though However Since Because Until Under Not No Yes Some Many Most All Both Each Every One Two Another "
    "Also Even Only Just Once Perhaps Please Let Is Are Was Were Do Does Did Can Could Will Would Should May Have Has "
    "Had Thus Hence Therefore Meanwhile Nevertheless It's I'm He's She's That's There's It’s I’m He’s She’s That’s "
    "There’s Don't Don’t"
)
_STARTERS = frozenset(_OFTEN_FIRST.split())


def english_sentences(paragraph: str) -> list[str]:
    """The sentences of an English paragraph; joined together, they are the paragraph.

    Example:
        >>> english_sentences('Mr. J. Doe left at 5 p.m. He said: "I go. Stay!" Then he went.')
        ['Mr. J. Doe left at 5 p.m.', ' He said: "I go.', ' Stay!"', ' Then he went.']
    """
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(paragraph):
        if _ends(paragraph, start, end):
            sentences.append(paragraph[start : end.end()])
            start = end.end()
    if start < len(paragraph):
        sentences.append(paragraph[start:])
    return sentences


def _ends(paragraph: str, start: int, end: re.Match[str]) -> bool:
    """Whether the sentence that begins at ``start`` ends at this stop."""
    chunk = paragraph[max(start, paragraph.rfind(" ", start, end.start()) + 1) : end.start()]
    if end["glued"] is not None:
        after = paragraph[end.end() : end.end() + _LONGEST_NAME].partition(" ")[0]
        return bool(_GLUED.fullmatch(chunk[-2:])) and not _ADDRESS.search(chunk + after)
    following = _NEXT.match(paragraph, end.end())
    assert following is not None  # it may be empty
    word = following["word"] or ""
    if not _WORD.search(paragraph, start, end.start()):
        return False  # a stop alone begins the next sentence: "... and then"
    if not word:
        return not _GOES_ON.match(paragraph, end.end()) and bool(_WORD.search(paragraph, end.end()))
    if end["stop"] == ".":
        label = end.start() - start <= _LONGEST_LABEL and _LABEL.fullmatch(paragraph, start, end.start())
        return not label and _period_ends(chunk.lstrip("\"'“‘([{«-–—"), word, closed=bool(end["closed"]))
    return not word[0].islower()


def _period_ends(before: str, word: str, *, closed: bool) -> bool:
    """Whether a sentence ends at the period between two words; ``closed`` if a quote or bracket closes after it."""
    before = before.rpartition("-")[2].rpartition("—")[2]
    if before in BEFORE_A_NAME and not closed:
        return False
    if before in BEFORE_A_NUMBER and not closed and word[0].isdigit():
        return False
    initial = len(before) == 1 and before.isalpha() and before != "I"
    if initial or before in ANYWHERE or _DOTTED.fullmatch(before):
        return word in _STARTERS
    return not (closed and word[0].islower())

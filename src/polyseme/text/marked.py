"""Reads and writes a sentence with one word in brackets, which marks a position in it."""

from collections.abc import Sequence
from itertools import accumulate

from polyseme.errors import InputError
from polyseme.text.dictionary import within_word
from polyseme.text.segmentation import Segmentation

_AT_SPACES = Segmentation()
_OTHERS = str.maketrans("【】［］", "[][]")
"""What Chinese keyboards type for brackets."""


def marked(sentence: str, cut: Segmentation = _AT_SPACES) -> tuple[list[str], int]:
    """The tokens of a sentence, and the position of the one in brackets.

    Args:
        sentence: Text with one word in brackets, which becomes one token: [ ], or where there are none, 【 】 or ［ ］.
        cut: How the rest is tokenised; by default tokens are separated by whitespace.

    Example:
        >>> marked("The river [bank] was steep")
        (['The', 'river', 'bank', 'was', 'steep'], 2)
    """
    before, word, after = _parts(sentence)
    # Tokenised as a whole if the brackets are at token boundaries, because tokens depend on their neighbours.
    text = before + word + after
    whole = _tokens(text, cut)
    ends = [0, *accumulate(map(len, whole))]  # in characters, without whitespace
    start = len("".join(before.split()))
    stop = start + len("".join(word.split()))
    if start in ends and stop in ends:
        left, right = whole[: ends.index(start)], whole[ends.index(stop) :]
    elif within_word(text, len(before)) or within_word(text, len(before) + len(word)):  # Chinese words may be split
        raise InputError(f"{sentence!r}: the brackets are inside a word; put them around the whole word")
    else:
        left, right = (_tokens(part, cut) for part in (before, after))
    return [*left, word.strip(), *right], len(left)


def mark(tokens: Sequence[str], position: int, *, around: int | None = None) -> str:
    """The sentence, or only ``around`` tokens on each side of a position, with the token there in brackets.

    What is left out at an end is shown as an ellipsis.

    Example:
        >>> mark(["The", "river", "bank", "was", "steep"], 2, around=1)
        '… river [bank] was …'
    """
    start = 0 if around is None else max(0, position - around)
    stop = len(tokens) if around is None else position + 1 + around
    shown = [*tokens[start:position], f"[{tokens[position]}]", *tokens[position + 1 : stop]]
    return " ".join(["…"] * (start > 0) + shown + ["…"] * (stop < len(tokens)))


def _parts(sentence: str) -> tuple[str, str, str]:
    """What is before, in and after the brackets."""
    typed = sentence if "[" in sentence else sentence.translate(_OTHERS)
    before, opened, rest = typed.partition("[")
    word, closed, after = rest.partition("]")
    count = len(word.split())
    if not opened or not closed or not count:
        raise InputError(f"{sentence!r} needs one word in brackets; write it as: The river [bank] was steep")
    if "[" in after:
        pairs = typed.count("[")
        raise InputError(f"{sentence!r}: {pairs} words are in brackets; leave them around the one you mean")
    if count > 1:
        raise InputError(f"{sentence!r}: {count} words are in the brackets; put them around one")
    return before, word, after


def _tokens(text: str, cut: Segmentation) -> list[str]:
    return [token for tokens in cut.sentences(text) for token in tokens]

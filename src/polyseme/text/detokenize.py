"""Puts tokens together again: undoes the spaces that a tokeniser put between them."""

import re
from collections.abc import Sequence

from polyseme.text.choices import Tokenizer

_CLOSING = frozenset((*",.;:!?)]}%…”»’°™®", "...", "..", "!!", "??", "?!", "!?"))
_OPENING = frozenset((*"([{¿¡“«‘#$£", "¿¡", "¡¿", "US$"))
_ENDING = re.compile(r"(?i)(?:n['’]t|['’](?:s|m|d|ll|re|ve|t))")
_FUSED = frozenset((("gon", "na"), ("wan", "na"), ("got", "ta"), ("gim", "me"), ("lem", "me"), ("can", "not")))
_NARROW = re.compile(r"[^\W_]")
_WIDE = "\u2e80"
"""Chinese and similar characters begin here."""


def detokenize(tokens: Sequence[str], tokenizer: Tokenizer | None) -> str:
    """One line of text from the tokens that a tokeniser makes of it.

    Text that came tokenised (None) keeps a space between any two tokens. Where a tokeniser leaves it open whether
    there was a space, the more usual writing is taken.

    Example:
        >>> detokenize(["I", "do", "n't", "know", ",", "``", "Tom", "''", "."], "en")
        "I don't know, `` Tom ''."
        >>> detokenize(["¿", "Qué", "es", "esto", "?"], "en")
        '¿Qué es esto?'
    """
    if tokenizer is None:
        return " ".join(tokens)
    return _spaced(tokens) if tokenizer == "en" else _unspaced(tokens)


def _spaced(tokens: Sequence[str]) -> str:
    """Words between spaces, punctuation at the words it belongs to."""
    text, glued, quoted = "", True, False
    before = ""
    for token in tokens:
        if token == '"':
            # The first one opens: a space before it and none after it.
            text += token if quoted or glued else f" {token}"
            glued, quoted = not quoted, not quoted
        else:
            close = token in _CLOSING or _ENDING.fullmatch(token) or (before.lower(), token.lower()) in _FUSED
            text += token if glued or close or token == "/" else f" {token}"
            glued = token in _OPENING or token == "/"
        before = token
    return text


def _unspaced(tokens: Sequence[str]) -> str:
    """A space only between two words of letters or digits that are not Chinese."""
    text = ""
    for token in tokens:
        apart = text and text[-1] < _WIDE and token[0] < _WIDE and _NARROW.match(text[-1]) and _NARROW.match(token[0])
        text += f" {token}" if apart else token
    return text

"""The input of an embedder: raw text, or tokenised sentences."""

import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from polyseme.errors import InputError
from polyseme.text.batching import checked
from polyseme.text.looks import RAW, look_at
from polyseme.text.marked import marked
from polyseme.text.segmentation import Segmentation

Sentences = str | Iterable[Sequence[str]]
"""One raw text, or sentences, each a list of tokens."""


def token_lists(given: Sentences, cut: Segmentation) -> Iterable[Sequence[str]]:
    """The sentences of an input, each a list of tokens.

    Args:
        given: One raw text, or lists of tokens.
        cut: How the model's text was tokenised; a raw text is tokenised in the same way.
    """
    if isinstance(given, str):
        if cut.tokenizer is None and look_at(given) in RAW:
            warnings.warn(
                f"{given[:40]!r}: the model does not record how its text was tokenised, so it is split at "
                "spaces; the text looks raw, better give lists of tokens",
                stacklevel=3,
            )
        return cut.sentences(given)
    return checked(given) if not hasattr(given, "__iter__") else _no_strings(given)  # the former refuses it


def tokens_and_position(
    sentence: str | Sequence[str], position: int | None, cut: Segmentation
) -> tuple[Sequence[str], int]:
    """The tokens of a sentence and the position of one of them, which is in brackets in a raw sentence."""
    if isinstance(sentence, str):
        if position is not None:
            raise InputError(
                f"position is {position!r} for the raw sentence {sentence[:40]!r}; put the word in brackets instead, "
                "or give the sentence as a list of tokens"
            )
        return marked(sentence, cut)
    sentence = next(iter(checked([sentence])))
    check_position(sentence, position)
    assert position is not None
    return sentence, position


def check_position(sentence: Sequence[str], position: int | None) -> None:
    """Raise an error if this is not a position in the sentence."""
    if not isinstance(position, int | np.integer):
        raise InputError(f"position is {position!r}, expected the number of a token, from 0")
    if not 0 <= position < len(sentence):
        raise InputError(f"position {position} is not in the sentence of {len(sentence)} tokens; count from 0")


def _no_strings(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise InputError(
                f"sentence {number} is the string {sentence[:40]!r}, not a list of tokens; if these are the tokens of "
                "one sentence, put them into another list: [tokens]; if they are texts, give each by itself as a string"
            )
        yield sentence

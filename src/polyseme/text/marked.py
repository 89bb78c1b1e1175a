"""A sentence with one word in brackets."""

import io

from polyseme.errors import InputError
from polyseme.text.tokenizers import Tokenizer, tokenized


def marked(sentence: str, tokenize: Tokenizer | None = None) -> tuple[list[str], int]:
    """The tokens of a sentence, and which of them stands in brackets.

    Args:
        sentence: Text with one word in brackets, which stays one token.
        tokenize: How the rest is cut into tokens; else they stand between whitespace.

    Example:
        >>> marked("The river [bank] was steep")
        (['The', 'river', 'bank', 'was', 'steep'], 2)
    """
    before, opened, rest = sentence.partition("[")
    word, closed, after = rest.partition("]")
    if not opened or not closed or not word.strip() or "[" in after:
        raise InputError(f"{sentence!r} has no one word in brackets; write it as: The river [bank] was steep")
    left, right = (_tokens(part, tokenize) for part in (before, after))
    return [*left, word.strip(), *right], len(left)


def _tokens(text: str, tokenize: Tokenizer | None) -> list[str]:
    if tokenize is None:
        return text.split()
    return [token for tokens in tokenized(io.StringIO(text).readline, tokenize) for token in tokens]

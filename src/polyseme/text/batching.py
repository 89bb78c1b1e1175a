"""Groups sentences into batches of similar length, in bounded memory, and restores the input order."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import TypeVar

from polyseme.errors import InputError

Result = TypeVar("Result")

_WINDOW_CHARACTERS = 1 << 22  # so that untokenised paragraphs, read as one token each, do not fill the memory


@dataclass(frozen=True)
class Window:
    """A part of the input that is in memory at one time, divided into batches of similar length."""

    sentences: Sequence[Sequence[str]]
    batches: Sequence[Sequence[int]]
    """Positions within ``sentences``; every non-empty sentence is in exactly one batch."""


def windows(
    sentences: Iterable[Sequence[str]], *, batch_tokens: int, window_tokens: int, window_sentences: int = 4096
) -> Iterator[Window]:
    """Read sentences lazily and form batches.

    Args:
        sentences: Lists of tokens.
        batch_tokens: Maximum number of tokens in a batch, unless one sentence alone is longer.
        window_tokens: A window ends when it has this many tokens.
        window_sentences: A window also ends when it has this many sentences.
    """
    window: list[Sequence[str]] = []
    tokens = characters = 0
    for sentence in checked(sentences):
        # A sentence that would overfill the window starts the next one, so that a very long one gets its own window.
        full = tokens + len(sentence) > window_tokens or characters > _WINDOW_CHARACTERS
        if (window and full) or len(window) == window_sentences:
            yield Window(window, by_length(window, batch_tokens))
            window, tokens, characters = [], 0, 0
        window.append(sentence)
        tokens += len(sentence)
        characters += sum(map(len, sentence))
    if window:
        yield Window(window, by_length(window, batch_tokens))


def in_input_order(
    sentences: Iterable[Sequence[str]],
    compute: Callable[[list[Sequence[str]]], Iterable[Result]],
    *,
    batch_tokens: int,
    without_tokens: Callable[[], Result],
) -> Iterator[Result]:
    """Compute something for every sentence in batches of similar length, and yield the results in input order.

    Sentences are read lazily: only a bounded number of tokens is in memory.

    Args:
        sentences: Lists of tokens.
        compute: Takes a batch of non-empty sentences and returns one result per sentence.
        batch_tokens: As in `windows`.
        without_tokens: The result for an empty sentence.
    """
    for window in windows(sentences, batch_tokens=batch_tokens, window_tokens=4 * batch_tokens):
        results: list[Result | None] = [None] * len(window.sentences)
        for batch in window.batches:
            computed = compute([window.sentences[position] for position in batch])
            for position, result in zip(batch, computed, strict=True):
                results[position] = result
        results.reverse()
        while results:  # frees each result as soon as it has been yielded
            last = results.pop()
            yield without_tokens() if last is None else last


def by_length(sentences: Sequence[Sequence[str]], batch_tokens: int) -> list[list[int]]:
    """Divide sentences into batches of similar length, longest first; empty sentences are left out."""
    order = sorted((i for i, s in enumerate(sentences) if len(s)), key=lambda i: -len(sentences[i]))
    batches: list[list[int]] = []
    room = 0
    for position in order:
        size = len(sentences[position])
        if not batches or size > room:
            batches.append([])
            room = batch_tokens
        batches[-1].append(position)
        room -= size
    return batches


def checked(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield the sentences, and raise an error for anything that is not a list of tokens."""
    if isinstance(sentences, str):
        raise InputError(
            f"got the string {_shown(sentences)} where a list of sentences is expected; "
            "a sentence is a list of tokens: [['The', 'river', 'bank']]"
        )
    if not isinstance(sentences, Iterable):
        raise InputError(
            f"got {_shown(sentences)} ({type(sentences).__name__}) where a list of sentences is expected; "
            "a sentence is a list of tokens: [['The', 'river', 'bank']]"
        )
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, Sized) or not isinstance(sentence, Iterable):
            raise InputError(
                f"sentence {number} is {_shown(sentence)} ({type(sentence).__name__}), not a list of tokens; "
                "give a list of lists: [['The', 'river', 'bank']]"
            )
        if isinstance(sentence, str):
            raise InputError(
                f"sentence {number} is the string {_shown(sentence)}, not a list of tokens; "
                "give a list of lists: [['The', 'river', 'bank']], or split the text first"
            )
        for position, token in enumerate(sentence):
            if not isinstance(token, str):
                raise InputError(
                    f"sentence {number}, token {position} is {_shown(token)} ({type(token).__name__}), not a string"
                )
        yield sentence


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."

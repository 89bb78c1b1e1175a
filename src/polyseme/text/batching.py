"""Sentences to batches: few wasted steps, bounded memory, input order kept."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import TypeVar

from polyseme.errors import InputError

Result = TypeVar("Result")

_WINDOW_CHARACTERS = 1 << 22  # paragraphs that came as one token each must not fill the memory


@dataclass(frozen=True)
class Window:
    """A stretch of the input that is in memory at one time, cut into batches of like length."""

    sentences: Sequence[Sequence[str]]
    batches: Sequence[Sequence[int]]
    """Positions within ``sentences``; every non-empty sentence is in exactly one batch."""


def windows(
    sentences: Iterable[Sequence[str]], *, batch_tokens: int, window_tokens: int, window_sentences: int = 4096
) -> Iterator[Window]:
    """Read sentences lazily and form batches.

    Args:
        sentences: Lists of tokens.
        batch_tokens: A batch holds at most this many tokens, or one longer sentence.
        window_tokens: A window is closed when it holds this many tokens.
        window_sentences: Or this many sentences.
    """
    window: list[Sequence[str]] = []
    tokens = characters = 0
    for sentence in checked(sentences):
        # A sentence that would overfill the window starts the next one, so that a very long one stands alone.
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
    """Compute something for every sentence in batches of like length, and give the results in input order.

    Sentences are read lazily, a bounded number of tokens ahead.

    Args:
        sentences: Lists of tokens.
        compute: A batch of sentences, none of them empty, to one result each.
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
        while results:  # each result is let go as soon as it is handed over
            last = results.pop()
            yield without_tokens() if last is None else last


def by_length(sentences: Sequence[Sequence[str]], batch_tokens: int) -> list[list[int]]:
    """Cut sentences into batches of like length, longest first; empty ones are left out."""
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
    """Pass sentences on, refusing what is not a list of tokens."""
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

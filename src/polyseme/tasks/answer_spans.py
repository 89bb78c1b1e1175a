"""Answers as tokens of their passage: where they are, which is the best, and long passages cut around them."""

from bisect import bisect_left, bisect_right
from dataclasses import replace

import torch
from torch import Tensor

from polyseme.errors import InputError
from polyseme.tasks.examples import Answer, Question

TokenSpan = tuple[int, int]
"""The first and the last token."""


def token_span(example: Question, answer: Answer) -> TokenSpan:
    """The tokens that an answer touches, white space at its ends left out.

    Raises:
        InputError: The answer is not in the passage.

    Example:
        >>> question = Question("1", ("What", "?"), "a red car", ("a", "red", "car"), ((0, 1), (2, 5), (6, 9)))
        >>> token_span(question, Answer(3, "ed "))  # inside a token
        (1, 1)
    """
    text, place = answer.text, answer.start
    begins, ends = place + len(text) - len(text.lstrip()), place + len(text.rstrip())
    first = bisect_right([end for _, end in example.offsets], begins)
    last = bisect_left([start for start, _ in example.offsets], ends) - 1
    if place < 0 or ends > len(example.passage) or first > last:
        raise InputError(
            f"question {example.id}: its answer {text!r:.40} at character {place} is not in its passage of "
            f"{len(example.passage):,} characters; give answers as they are in the passage"
        )
    return first, last


def token_spans(example: Question) -> list[TokenSpan]:
    """The tokens of all its answers, each span once."""
    return list(dict.fromkeys(token_span(example, answer) for answer in example.answers or ()))


def span_text(example: Question, span: TokenSpan) -> Answer:
    """The characters of the passage from the first to the last token."""
    start, end = example.offsets[span[0]][0], example.offsets[span[1]][1]
    return Answer(start, example.passage[start:end])


def best_spans(start: Tensor, end: Tensor, longest: int) -> list[TokenSpan]:
    """The most likely span of each passage.

    Args:
        start: (B, T) log-probabilities of the first token.
        end: (B, T) of the last token.
        longest: Tokens of a span, at most.
    """
    length = start.shape[1]
    both = start.new_full((*start.shape, min(longest, length)), -torch.inf)  # (B, T, more tokens behind the first)
    for more in range(both.shape[2]):
        both[:, : length - more, more] = start[:, : length - more] + end[:, more:]
    places = both.flatten(1).argmax(dim=1).tolist()
    return [(place // both.shape[2], sum(divmod(place, both.shape[2]))) for place in places]


def cut_passage(example: Question, tokens: int) -> Question:
    """A question whose passage has no more than this many tokens, with the first answer among them.

    The beginning of the passage is kept if the answer is in it, else the tokens around the answer. Answers that are not
    whole in what is kept are left out.
    """
    if len(example.tokens) <= tokens or not example.answers:
        return example
    first, last = token_span(example, example.answers[0])
    begin = 0
    if last >= tokens:
        begin = min((first + last - tokens) // 2 + 1, first, len(example.tokens) - tokens)
    kept = range(begin, begin + tokens)
    answers = [one for one in example.answers if set(token_span(example, one)) <= set(kept)]
    if not answers:  # longer than all that is kept
        answers = [span_text(example, (first, kept[-1]))]
    return replace(
        example,
        tokens=example.tokens[begin : begin + tokens],
        offsets=example.offsets[begin : begin + tokens],
        answers=tuple(answers),
    )

"""The search for a translation: the likeliest word at each step, or the best of several beginnings (beam search)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.models.translator import Read, Translator

BEGIN, END = 0, 1
"""The target words that begin and end a sentence."""


@dataclass(frozen=True)
class Hypothesis:
    """A translation that was found."""

    words: list[int]
    """Without the markers."""
    attended: list[int]
    """The place of the source token that got most attention at each word."""
    score: float
    """The log-probability divided by length (with the end marker) to the power of the length penalty."""


def limit_of(source_length: int) -> int:
    """The most words of a translation, with the end marker."""
    return 2 * source_length + 10


@torch.no_grad()
def greedy_search(network: Translator, read: Read, limits: Sequence[int]) -> list[Hypothesis]:
    """Take the likeliest word at each step until it is the end marker.

    Args:
        network: In evaluation mode.
        read: The source sentences.
        limits: The most words of each translation, with the end marker.
    """
    written: list[list[int]] = [[] for _ in limits]
    attended: list[list[int]] = [[] for _ in limits]
    sums = [0.0] * len(limits)
    active = list(range(len(limits)))
    last = torch.full((len(limits),), BEGIN, device=read.state.hidden.device)
    while active:
        scores, read, attention = _next(network, last, read)
        best, words = scores.max(dim=1)
        places = attention.argmax(dim=1).tolist()
        going = []
        for row, (number, word, share) in enumerate(zip(active, words.tolist(), best.tolist(), strict=True)):
            written[number].append(word)
            attended[number].append(places[row])
            sums[number] += share
            if word != END and len(written[number]) < limits[number]:
                going.append(row)
        if len(going) < len(active):
            rows = torch.tensor(going, dtype=torch.int64, device=words.device)
            active, words, read = [active[row] for row in going], words[rows], _rows(read, rows)
        last = words
    return [
        _hypothesis(words, places, total / len(words))
        for words, places, total in zip(written, attended, sums, strict=True)
    ]


@torch.no_grad()
def beam_search(
    network: Translator, read: Read, limits: Sequence[int], *, width: int, length_penalty: float = 1.0
) -> list[Hypothesis]:
    """Extend the best ``width`` beginnings of each sentence by one word at a time.

    A beginning that ends takes one of the places, so that a width of 1 is the greedy search. A sentence is done if all
    places have ended, or if no beginning can become better than the best that has ended.
    """
    beams = [_Beam(limit, width, length_penalty) for limit in limits]
    active = list(range(len(limits)))
    device = read.state.hidden.device
    read = _rows(read, torch.arange(len(limits), device=device).repeat_interleave(width))
    scores = torch.full((len(limits), width), float("-inf"), device=device)
    scores[:, 0] = 0.0
    last = torch.full((len(limits) * width,), BEGIN, device=device)
    while active:
        chances, read, attention = _next(network, last, read)
        total = scores.unsqueeze(2) + chances.view(len(active), width, -1)  # (A, W, V)
        found, places = total.flatten(1).topk(width, dim=1)
        parents, words = places // total.shape[2], places % total.shape[2]
        attended = attention.argmax(dim=1).view(len(active), width).gather(1, parents)
        kept = [
            beams[number].extend(*(part[row].tolist() for part in (found, parents, words, attended)))
            for row, number in enumerate(active)
        ]
        going = [row for row, number in enumerate(active) if not beams[number].done]
        chosen = torch.tensor(going, dtype=torch.int64, device=device)
        scores = torch.tensor([kept[row] for row in going], device=device).view(-1, width)
        last = words[chosen].flatten()
        read = _rows(read, (chosen.unsqueeze(1) * width + parents[chosen]).flatten())
        active = [active[row] for row in going]
    return [beam.best() for beam in beams]


class _Beam:
    """The beginnings of one translation, and those that have ended."""

    def __init__(self, limit: int, width: int, length_penalty: float) -> None:
        self.limit, self.width, self.power = limit, width, length_penalty
        self.going: list[tuple[list[int], list[int]]] = [([], [])] * width
        self.ended: list[Hypothesis] = []
        self.cut_off: list[Hypothesis] = []
        self.done = False

    def extend(self, scores: list[float], parents: list[int], words: list[int], attended: list[int]) -> list[float]:
        """Take the best continuations, best first; returns their scores, minus infinity for those that are dropped."""
        room = self.width - len(self.ended)
        going, kept = [], []
        for place, (score, parent, word, looked) in enumerate(zip(scores, parents, words, attended, strict=True)):
            before, places = self.going[parent]
            line = ([*before, word], [*places, looked])
            going.append(line)
            alive = place < room and score > float("-inf")
            full = len(line[0]) == self.limit
            if alive and (word == END or full):
                ended = _hypothesis(*line, score / len(line[0]) ** self.power)
                (self.ended if word == END else self.cut_off).append(ended)
            kept.append(score if alive and word != END and not full else float("-inf"))
        self.going = going
        # A score can only fall, so the best that a beginning can become is its score at the greatest length.
        hope = max(kept) / self.limit**self.power
        self.done = hope == float("-inf") or any(one.score >= hope for one in self.ended)
        return kept

    def best(self) -> Hypothesis:
        return max(self.ended or self.cut_off, key=lambda one: one.score)


def _next(network: Translator, last: Tensor, read: Read) -> tuple[Tensor, Read, Tensor]:
    """As `Translator.next_words`, but no sentence begins again."""
    scores, read, attention = network.next_words(last, read)
    scores[:, BEGIN] = float("-inf")
    return scores, read, attention


def _rows(read: Read, which: Tensor) -> Read:
    return Read(read.memory.rows(which), read.state.rows(which))


def _hypothesis(words: list[int], attended: list[int], score: float) -> Hypothesis:
    end = -1 if words[-1] == END else len(words)
    return Hypothesis(words[:end], attended[:end], score)

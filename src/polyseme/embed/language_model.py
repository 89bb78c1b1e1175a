"""A biLM as a language model: how likely a word is, and which words would fit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polyseme.files.whole import JSON
from polyseme.nn.packing import Packing
from polyseme.nn.sampled_softmax import log_uniform
from polyseme.nn.softmax import Softmax
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE
from polyseme.text.vocabulary import Vocabulary


class Substitute(NamedTuple):
    """A word that fits a position, with natural log-probabilities."""

    word: str
    log_probability: float
    """Of both directions together: their product over what the word has anywhere, normalised over the vocabulary."""
    forward: float
    """Given the words before."""
    backward: float
    """Given the words after."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {
            "word": self.word,
            "log_probability": self.log_probability,
            "forward": self.forward,
            "backward": self.backward,
        }


class LanguageModel:
    """A softmax with its words, asked about the top layer of a batch.

    The forward state at a token predicts the next one, the backward state the one before, so a token is scored by the
    forward state left of it and the backward state right of it: never by a state that depends on it.
    """

    def __init__(self, softmax: Softmax, vocabulary: Vocabulary) -> None:
        self.softmax = softmax
        self.vocabulary = vocabulary

    @torch.inference_mode()
    def score(self, top: Tensor, packing: Packing, sentences: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """Log-probabilities of every token of sentences, given their packed top layer (N, D) with markers."""
        forward, backward = top[packing.packed_of_flat].chunk(2, dim=1)  # (N, P) each, flat
        places: list[int] = []
        words: list[int] = []
        start = 0
        for sentence in sentences:
            places.extend(range(start + 1, start + 1 + len(sentence)))
            words.extend(self.vocabulary.lookup(sentence))
            start += len(sentence) + 2
        place, target = torch.tensor(places, device=top.device), torch.tensor(words, device=top.device)
        scores = torch.stack(
            [
                self.softmax.log_probability(forward[place - 1], target),
                self.softmax.log_probability(backward[place + 1], target),
            ],
            dim=1,
        )  # (tokens, 2)
        return [part.cpu().numpy() for part in scores.split([len(sentence) for sentence in sentences])]

    @torch.inference_mode()
    def substitutes(self, top: Tensor, packing: Packing, position: int, k: int) -> list[Substitute]:
        """The best words for one place of a single sentence, given its packed top layer with markers."""
        forward, backward = self._distributions(top, packing, position)
        # Both sides say how frequent a word is, which counts once: P(w | left, right) ~ P(w | left) P(w | right) / P(w)
        # where the sides are independent given the word. Vocabularies are sorted by count.
        anywhere = log_uniform(torch.arange(len(forward), device=forward.device), len(forward)).log()
        together = (forward + backward - anywhere).log_softmax(dim=0)
        return [
            Substitute(
                self.vocabulary.words[index], together[index].item(), forward[index].item(), backward[index].item()
            )
            for index in self._best(together, k)
        ]

    def _distributions(self, top: Tensor, packing: Packing, position: int) -> tuple[Tensor, Tensor]:
        """Log-probabilities (V,) of all words for a place, from its left and from its right."""
        forward, backward = top[packing.packed_of_flat].chunk(2, dim=1)
        # The begin marker is row 0, so the token's own row is position + 1.
        return self.softmax(forward[position]), self.softmax(backward[position + 2])

    def _best(self, scores: Tensor, k: int) -> list[int]:
        """The ids of the k best real words."""
        markers = {
            self.vocabulary.ids.get(BEGIN_SENTENCE),
            self.vocabulary.ids.get(END_SENTENCE),
            self.vocabulary.unknown,
        }
        order = scores.topk(min(len(scores), k + len(markers))).indices.tolist()
        return [index for index in order if index not in markers][:k]

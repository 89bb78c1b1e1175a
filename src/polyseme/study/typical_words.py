"""Which words are typical of some occurrences? Those that would fit there and are likelier there than elsewhere."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import torch

from polyseme.embed.embedder import Embedder
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.nn.sampled_softmax import log_uniform

LabelSource = Literal["substitutes", "neighbours"]
"""Where typical words come from: from the model's softmax or, if it has none, from the nearest words of the text."""
_SUBSTITUTES = 100  # words considered for each occurrence


class TypicalWords:
    """Finds the words that fit where some occurrences are.

    Args:
        index: Where the occurrences are.
        but: Words that are left out, in any letter case.
        count: How many words to give.

    Attributes:
        source: Where they come from.
    """

    def __init__(self, index: OccurrenceIndex, but: Collection[str], *, count: int) -> None:
        self._index, self._but, self._count = index, {word.casefold() for word in but}, count
        source = index.embedder
        self._predictor = source if isinstance(source, Embedder) and source.model.predicts_words else None
        self.source: LabelSource = "substitutes" if self._predictor else "neighbours"

    def __call__(self, occurrences: Sequence[Occurrence]) -> list[str]:
        """The words that are typical of these, best first."""
        weights: defaultdict[str, float] = defaultdict(float)
        for one in occurrences:
            for word, weight in self._fitting(one):
                if word.casefold() not in self._but and any(map(str.isalpha, word)):
                    weights[word] += weight
        return sorted(weights, key=lambda word: -weights[word])[: self._count]

    def _fitting(self, one: Occurrence) -> Iterator[tuple[str, float]]:
        vocabulary = self._predictor.model.vocabulary if self._predictor else None
        if self._predictor is None or vocabulary is None:
            for near in self._index.nearest(one.sentence, one.position, k=_SUBSTITUTES, words="other", group=True):
                yield near.word, near.similarity
            return
        found = self._predictor.substitutes(one.sentence, one.position, k=_SUBSTITUTES)
        ranks = torch.tensor([vocabulary.ids[fit.word] for fit in found])
        for fit, anywhere in zip(found, log_uniform(ranks, len(vocabulary)).log().tolist(), strict=True):
            # What is likely everywhere, as "the" is, says nothing about a sense.
            yield fit.word, math.exp(fit.log_probability) * max(0.0, fit.log_probability - anywhere)

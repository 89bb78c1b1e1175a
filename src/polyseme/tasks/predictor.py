"""Answers of a model for examples, in their order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic

import torch

from polyseme.tasks.batches import BatchMaker
from polyseme.tasks.choices import VectorLayers
from polyseme.tasks.features import Features
from polyseme.tasks.kind import Kind, Tables
from polyseme.tasks.lexicon import Lexicon
from polyseme.tasks.model import Batch, Ex, TaskModel
from polyseme.tasks.sentences import SentenceStore
from polyseme.tasks.sources import TaskSource

_AT_ONCE = 1024
"""Examples whose sentences are in memory at a time."""
BATCH_TOKENS = 4096


class Predictor(Generic[Ex]):
    """Answers examples.

    Args:
        kind: The task.
        model: What answers.
        tables: What the model was built from.
        lexicon: The words that have a learned vector.
        sources: The vector sources.
        layers: Which layers of a contextual source the model reads.
    """

    def __init__(
        self,
        kind: Kind[Ex],
        model: TaskModel[Ex],
        tables: Tables,
        lexicon: Lexicon,
        sources: Sequence[TaskSource],
        layers: VectorLayers,
    ) -> None:
        self.kind, self.model, self.tables = kind, model, tables
        self.lexicon, self.sources, self.layers = lexicon, sources, layers

    def predict(self, examples: Iterable[Ex]) -> Iterator[Ex]:
        """Each example with the answer of the model, in input order; a bounded number is in memory."""
        remaining = iter(examples)
        while some := list(islice(remaining, _AT_ONCE)):
            yield from answered(self.kind, self.model, self.tables, some, self._maker(some))

    def losses(self, examples: Sequence[Ex]) -> list[float]:
        """The loss of each labelled example; 0 for one that has a sentence without tokens."""
        maker = self._maker(examples)
        found = [0.0] * len(examples)
        for places in batches_by_length(self.kind, examples):
            batch = maker.batch([examples[place] for place in places])
            for place, loss in zip(places, _losses(self.model, batch), strict=True):
                found[place] = loss
        return found

    def _maker(self, examples: Sequence[Ex]) -> BatchMaker[Ex]:
        """Vectors are computed batch by batch: each sentence is needed once."""
        store = SentenceStore(sentence for example in examples for sentence in self.kind.sentences(example))
        fixed = [one for one in self.sources if not one.is_static and not one.tuned]
        features = [Features(one.source, store, layers=self.layers) for one in fixed]
        device = next(self.model.parameters()).device
        return BatchMaker(self.kind, store, self.lexicon, self.sources, features, device=device)


def answered(
    kind: Kind[Ex], model: TaskModel[Ex], tables: Tables, examples: Sequence[Ex], maker: BatchMaker[Ex]
) -> list[Ex]:
    """The examples with the answers of a model, in their order."""
    answers = [kind.blank(example, tables) if _is_empty(kind, example) else example for example in examples]
    for places in batches_by_length(kind, examples):
        batch = maker.batch([examples[place] for place in places])
        for place, answer in zip(places, _decode(model, batch), strict=True):
            answers[place] = answer
    return answers


def batches_by_length(kind: Kind[Ex], examples: Sequence[Ex]) -> list[list[int]]:
    """Places of examples that have tokens in all their sentences, those of similar length together."""
    lengths = [kind.size(example) for example in examples]
    full = [place for place, example in enumerate(examples) if not _is_empty(kind, example)]
    batches: list[list[int]] = []
    room = 0
    for place in sorted(full, key=lambda place: -lengths[place]):
        if not batches or lengths[place] > room:
            batches.append([])
            room = BATCH_TOKENS
        batches[-1].append(place)
        room -= lengths[place]
    return batches


def _is_empty(kind: Kind[Ex], example: Ex) -> bool:
    sentences = kind.sentences(example)
    return not sentences or not all(sentences)


@torch.no_grad()
def _decode(model: TaskModel[Ex], batch: Batch[Ex]) -> list[Ex]:
    model.eval()
    return model.decode(batch)


@torch.no_grad()
def _losses(model: TaskModel[Ex], batch: Batch[Ex]) -> list[float]:
    model.eval()
    found: list[float] = model.losses(batch).tolist()
    return found

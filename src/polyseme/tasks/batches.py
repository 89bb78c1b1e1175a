"""From examples to batches: which examples go together, and the words of their sentences as tensors."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Generic

import numpy as np
import torch
from numpy.typing import NDArray

from polyseme.nn.packing import Packing
from polyseme.tasks.features import Features
from polyseme.tasks.kind import Kind
from polyseme.tasks.lexicon import Lexicon
from polyseme.tasks.model import Batch, Ex
from polyseme.tasks.sentences import SentenceStore
from polyseme.tasks.sources import TaskSource
from polyseme.tasks.words import Words
from polyseme.train.engine.job import Group

WINDOW_BATCHES = 24
"""Examples are sorted by length within this many batches of shuffled ones, so that a batch needs little padding."""

Numbers = NDArray[np.int64]


class BatchMaker(Generic[Ex]):
    """Makes batches of examples whose sentences are all in one store.

    Args:
        kind: The task.
        store: The sentences.
        lexicon: The words that have a learned vector.
        sources: The vector sources.
        features: The vectors of each contextual source that stays as it is, in the order of ``sources``.
        device: Where the tensors are put.
    """

    def __init__(
        self,
        kind: Kind[Ex],
        store: SentenceStore,
        lexicon: Lexicon,
        sources: Sequence[TaskSource],
        features: Sequence[Features],
        *,
        device: torch.device | str = "cpu",
    ) -> None:
        self.kind, self.store, self.device = kind, store, device
        self._rows = lexicon.rows(store.words)
        self._static = [one.vectors_of(store.words) for one in sources if one.is_static]
        fixed = iter(features)
        self._contextual = [
            one.model().indexer.ids(store.words) if one.tuned else next(fixed) for one in sources if not one.is_static
        ]

    def batch(self, examples: Sequence[Ex]) -> Batch[Ex]:
        """Some examples as one batch; each must have tokens in all its sentences."""
        sentences = [sentence for example in examples for sentence in self.kind.sentences(example)]
        numbers = [self.store.number(sentence) for sentence in sentences]
        distinct, types = np.unique(self.store.tokens(numbers), return_inverse=True)
        rows, put = self._rows, self._put
        words = Words(
            packing=Packing.of([len(sentence) for sentence in sentences], self.device),
            types=put(types),
            ids=put(rows.ids[distinct]),
            cases=put(rows.cases[distinct]),
            characters=put(rows.characters[distinct]),
            static=[put(vectors[distinct]) for vectors, _ in self._static],
            rows=[put(rows[distinct]) for _, rows in self._static],
            contextual=[
                put(one.read(numbers) if isinstance(one, Features) else one[distinct]) for one in self._contextual
            ],
        )
        return Batch(examples, words)

    def _put(self, array: NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)


def shuffled_batches(lengths: Numbers, size: int, tokens: int, generator: np.random.Generator) -> Iterator[Numbers]:
    """The numbers of the examples of each batch of an epoch: examples of similar length, in random order.

    Args:
        lengths: (E,) tokens of each example.
        size: Examples of a batch, at most.
        tokens: Tokens of a batch with its padding, at most, unless one example alone has more.
        generator: Of the random numbers.
    """
    order = generator.permutation(len(lengths))
    batches: list[Numbers] = []
    for first in range(0, len(order), WINDOW_BATCHES * size):
        window = order[first : first + WINDOW_BATCHES * size]
        window = window[np.argsort(-lengths[window], kind="stable")]
        while len(window):
            count = min(size, max(1, tokens // int(lengths[window[0]])))
            batches.append(window[:count])
            window = window[count:]
    return iter([batches[number] for number in generator.permutation(len(batches))])


def epoch_groups(
    lengths: Numbers, *, size: int, tokens: int, group: int, seed: int, epoch: int
) -> Iterator[Group[Numbers]]:
    """The updates of an epoch, the same for the same seed and epoch; each has ``group`` batches."""
    batches = shuffled_batches(lengths, size, tokens, np.random.default_rng([seed, epoch]))
    done = 0
    while some := list(islice(batches, group)):
        done += sum(map(len, some))
        yield Group(done / len(lengths), some)

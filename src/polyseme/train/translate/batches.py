"""Batches of pairs of similar length, in an order that depends only on the seed and the epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polyseme.models.translation import BEGIN, END
from polyseme.nn.packing import Packing
from polyseme.train.engine.job import Group
from polyseme.train.translate.pair_store import Pairs

WINDOW_BATCHES = 64
"""Pairs are sorted by length within this many batches of shuffled pairs."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class PairBatch:
    """Pairs in packed order, each side in its own layout; S source tokens, N target words with the end marker."""

    source: Tensor
    """(S,) rows of the table of vectors, -1 for a word without one."""
    source_packing: Packing
    before: Tensor
    """(N,) the word before each target word; the begin marker before the first."""
    target: Tensor
    """(N,) the words to predict; the end marker is the last of a sentence."""
    target_packing: Packing


def read_batch(pairs: Pairs, numbers: Numbers, device: torch.device) -> PairBatch:
    """The pairs of these numbers."""
    sources = [pairs.source[pairs.source_starts[n] : pairs.source_starts[n + 1]] for n in numbers]
    targets = [pairs.target[pairs.target_starts[n] : pairs.target_starts[n + 1]] for n in numbers]
    source_packing = Packing.of([len(one) for one in sources], device)
    target_packing = Packing.of([len(one) + 1 for one in targets], device)
    flat = [
        torch.from_numpy(np.concatenate(parts).astype(np.int64)).to(device)
        for parts in (
            sources,
            [part for one in targets for part in ([BEGIN], one)],
            [part for one in targets for part in (one, [END])],
        )
    ]
    return PairBatch(
        flat[0][source_packing.flat_of_packed],
        source_packing,
        flat[1][target_packing.flat_of_packed],
        flat[2][target_packing.flat_of_packed],
        target_packing,
    )


class PairBatches:
    """The batches of an epoch.

    Args:
        pairs: The training pairs.
        batch_tokens: Tokens of both sides in a batch, at most.
        group: Batches of one update.
        seed: Of the order.
    """

    def __init__(self, pairs: Pairs, *, batch_tokens: int, group: int, seed: int) -> None:
        self.pairs, self.batch_tokens, self.group, self.seed = pairs, batch_tokens, group, seed
        self._target = pairs.target_lengths
        self._both = self._target + pairs.source_lengths
        self._total = int(self._both.sum())

    def groups(self, epoch: int, start: int) -> Iterator[Group[Numbers]]:
        """See `polyseme.train.engine.job.Job`."""
        batches, done, number = self._batches(epoch), 0, 0
        while some := list(islice(batches, self.group)):
            done += sum(int(self._both[numbers].sum()) for numbers in some)
            if number >= start:
                yield Group(done / self._total, some)
            number += 1

    def _batches(self, epoch: int) -> Iterator[Numbers]:
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.pairs))
        window = np.cumsum(self._both[order]) // (WINDOW_BATCHES * self.batch_tokens)
        for first, last in pairwise([0, *(np.flatnonzero(np.diff(window)) + 1).tolist(), len(order)]):
            batches = list(self.in_order(order[first:last]))
            yield from (batches[index] for index in generator.permutation(len(batches)))

    def in_order(self, numbers: Numbers) -> Iterator[Numbers]:
        """Some pairs in batches, the longest target sentences first and, of equal ones, the longest source."""
        numbers = numbers[np.lexsort((-self._both[numbers], -self._target[numbers]))]
        begun, tokens = 0, 0
        for place, length in enumerate(self._both[numbers].tolist()):
            if tokens and tokens + length > self.batch_tokens:
                yield numbers[begun:place]
                begun, tokens = place, 0
            tokens += length
        if begun < len(numbers):
            yield numbers[begun:]

"""A second loss for a biLM: each content word also predicts another content word some places away in its sentence.

Predicting the next word teaches syntax and what is near. What a word means in its sentence often shows only further
away, on either side; a state that must tell a word from there keeps what the sentence is about.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from polyseme.nn.sampled_softmax import Negatives, sampled_nll
from polyseme.nn.softmax import FullSoftmax, full_nll
from polyseme.train.lm.text_store import END, TextStore, chunks

NEAREST, FURTHEST = 2, 10
"""How many places away a predicted word is; the neighbours are what the language model itself predicts."""
FREQUENT = 1e-4
"""A word that makes up at most this share of the text always counts as a content word; a more frequent one seldom."""


@dataclass(frozen=True)
class Away:
    """States that predict words further away."""

    states: Tensor
    """(n, 2P) of both directions."""
    targets: Tensor
    """(n,) the output word that both predict."""


@dataclass(frozen=True)
class Sample:
    """The rows of a softmax that take part in an update."""

    rows: Tensor
    """(R,) ascending."""
    weight: Tensor
    """(R, P)"""
    bias: Tensor
    """(R,)"""
    negatives: Negatives


class ContextWords(nn.Module):
    """Predicts words further away from states of either direction, through the rows of the softmax.

    Each direction has a map of its own before the rows, which begins as the identity and belongs to the training alone:
    it is no part of the model.

    Args:
        store: The text, whose counts say which words are content words.
        dim: The width P of a direction.
    """

    def __init__(self, store: TextStore, dim: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(dim, dim) for _ in range(2))
        for one in self.maps:
            assert isinstance(one, nn.Linear)
            nn.init.eye_(one.weight)
            nn.init.zeros_(one.bias)
        self._store = store
        self._kept = kept_share(store)

    def draw(
        self, types: NDArray[np.int32], lengths: Sequence[int], uniform: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places in a batch and for each the place of a word that it predicts, both content words of one sentence.

        Args:
            types: (N,) of the sentences, one after the other.
            lengths: Tokens of each sentence.
            uniform: (2, N) random numbers from 0 to 1.
        """
        kept = self._kept[self._store.outputs[types]]  # (N,)
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        away = np.concatenate([np.arange(-FURTHEST, -NEAREST + 1), np.arange(NEAREST, FURTHEST + 1)])
        place = np.arange(len(types))[:, None] + away  # (N, distances)
        inside = (place >= 0) & (place < len(types))
        place = np.where(inside, place, 0)
        inside &= sentence[place] == sentence[:, None]
        summed = np.where(inside, kept[place], 0.0).cumsum(axis=1)
        chosen = (summed > uniform[0][:, None] * summed[:, -1:]).argmax(axis=1)
        drawn = np.flatnonzero((uniform[1] < kept) & (summed[:, -1] > 0))
        return drawn, place[drawn, chosen[drawn]]

    def nll(self, away: Away, softmax: FullSoftmax, sample: Sample | None = None) -> Tensor:
        """Summed negative log-likelihood of the drawn words; the softmax does not learn from it.

        Args:
            away: What predicts what.
            softmax: Whose rows are used.
            sample: Which of them; all by default.
        """
        halves = away.states.chunk(2, dim=1)
        mapped = torch.cat([one(half) for one, half in zip(self.maps, halves, strict=True)])
        both = away.targets.repeat(2)
        # A word is drawn as often as it occurs, times the share of it that counts as a content word.
        log_kept = torch.from_numpy(np.log(np.maximum(self._kept, 1e-9))).to(softmax.bias)
        if sample is None:
            return full_nll(mapped, softmax.weight.detach(), softmax.bias.detach() + log_kept, both)
        bias = sample.bias.detach() + log_kept[sample.rows]
        weight = sample.weight.detach()
        return sampled_nll(mapped, weight, bias, rows=sample.rows, targets=both, negatives=sample.negatives)


def kept_share(store: TextStore) -> NDArray[np.float64]:
    """(V,) how likely an occurrence of each output word counts as a content word; of markers and unknown words none."""
    counts = np.zeros(len(store.vocabulary), dtype=np.int64)
    for some in chunks(store.training.types):
        counts += np.bincount(store.outputs[some], minlength=len(counts))
    share = counts / counts.sum()
    kept: NDArray[np.float64] = np.minimum(1.0, np.sqrt(FREQUENT / np.maximum(share, 1e-12)))
    kept[counts == 0] = 0.0
    kept[[store.vocabulary.unknown, *store.outputs[: END + 1]]] = 0.0
    return kept

"""Adaptive softmax: frequent words in full width, rare ones in clusters of narrower rows."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.nn.softmax import Softmax

NARROWING = 4.0
"""Each cluster's rows are this many times narrower than those of the one before (Grave et al. 2017, section 4)."""


class AdaptiveSoftmax(Softmax):
    """Exact log-probabilities over the whole vocabulary at a fraction of the full softmax's work and memory.

    Args:
        dim: Width P of the states.
        vocabulary_size: Words, most frequent first.
        cutoffs: Where each cluster begins; words before the first are in the head.
    """

    def __init__(self, dim: int, vocabulary_size: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.dim = dim
        narrowest = dim // NARROWING ** len(cutoffs)
        narrowing = NARROWING if narrowest >= 1 else dim ** (1 / len(cutoffs))
        self.clusters = nn.AdaptiveLogSoftmaxWithLoss(
            dim, vocabulary_size, list(cutoffs), div_value=narrowing, head_bias=True
        )

    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (..., P) to (..., V)."""
        flat = self.clusters.log_prob(states.reshape(-1, self.dim))
        return flat.reshape(*states.shape[:-1], self.vocabulary_size)

    def nll(self, states: Tensor, targets: Tensor) -> Tensor:
        """Summed negative log-likelihood: only the clusters that hold a target are computed."""
        return -self.log_probability(states, targets).sum()

    def log_probability(self, states: Tensor, targets: Tensor, *, rows: int = 4096) -> Tensor:
        """Log-probability (N,) of one word after each state, a few rows at a time to bound memory."""
        parts = [
            self.clusters(some, wanted).output
            for some, wanted in zip(states.split(rows), targets.split(rows), strict=True)
        ]
        return torch.cat(parts)

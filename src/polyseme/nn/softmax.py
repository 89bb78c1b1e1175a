"""The output layer of a language model: which word stands here."""

import math

import torch
from torch import Tensor, nn


class FullSoftmax(nn.Module):
    """Log-probabilities over the whole vocabulary, shared by both directions.

    ``weight`` is (V, P), ``bias`` (V,).
    """

    def __init__(self, dim: int, vocabulary_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary_size, dim))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        nn.init.normal_(self.weight, std=1 / math.sqrt(dim))

    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (N, P) to (N, V)."""
        return nn.functional.linear(states, self.weight, self.bias).log_softmax(dim=-1)

    def log_probability(self, states: Tensor, targets: Tensor, *, rows: int = 256) -> Tensor:
        """Log-probability of one word after each state, a few rows at a time to bound memory.

        Args:
            states: (N, P)
            targets: (N,) word ids.
            rows: How many states meet the vocabulary at once.

        Returns:
            (N,)
        """
        parts = [
            self(some).gather(1, wanted.unsqueeze(1)).squeeze(1)
            for some, wanted in zip(states.split(rows), targets.split(rows), strict=True)
        ]
        return torch.cat(parts)

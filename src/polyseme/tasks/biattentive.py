"""The biattentive classification network (McCann et al. 2017, section 5), for one text.

The text attends to itself: both sides of the attention are the same. Shapes: B texts, T tokens, H cells of a direction,
K labels.
"""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.nn.bilstm import BiLstm
from polyseme.tasks.pooling import masked_max, masked_mean, masked_min, masked_softmax

_INPUT_DROPOUT, _INTEGRATOR_DROPOUT, _MAXOUT_DROPOUTS, _POOL = 0.25, 0.1, (0.2, 0.3), 4


class BiattentiveNetwork(nn.Module):
    """Relu layer -> biLSTM -> attention to itself -> integrator biLSTM -> four pools -> three maxout layers.

    Args:
        input_dim: Width of the vectors at the input.
        output_dim: Width of the vectors that are put beside the integrator's states.
        hidden_dim: Cells of each direction of both LSTMs.
        labels: How many, K.
        dropout: On the vectors at input and output.
    """

    def __init__(self, *, input_dim: int, output_dim: int, hidden_dim: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.feed = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.ReLU(), nn.Dropout(_INPUT_DROPOUT))
        self.encoder = BiLstm(input_dim=hidden_dim, hidden_dim=hidden_dim)
        self.integrator = BiLstm(input_dim=3 * self.encoder.dim, hidden_dim=hidden_dim)
        self.integrated = nn.Dropout(_INTEGRATOR_DROPOUT)
        width = self.integrator.dim + output_dim
        self.attention = nn.Linear(width, 1)
        self.classifier = Maxout([4 * width, 2 * width, width, labels], dropouts=_MAXOUT_DROPOUTS, pool=_POOL)

    def forward(self, vectors: Tensor, output: Tensor, mask: Tensor) -> Tensor:
        """(B, T, D), (B, T, D') and the mask (B, T) to (B, K)."""
        encoded = self.encoder.padded(self.feed(self.dropout(vectors)), mask)  # (B, T, 2H)
        attended = masked_softmax(encoded @ encoded.transpose(1, 2), mask.unsqueeze(1)) @ encoded
        both = torch.cat([encoded, encoded - attended, encoded * attended], dim=2)
        states = self.integrated(self.integrator.padded(both, mask))
        states = torch.cat([states, self.dropout(output)], dim=2)  # (B, T, W)
        shares = masked_softmax(self.attention(states).squeeze(2), mask)  # (B, T)
        pools = [masked_max(states, mask), masked_mean(states, mask), masked_min(states, mask)]
        scores: Tensor = self.classifier(torch.cat([*pools, (shares.unsqueeze(1) @ states).squeeze(1)], dim=1))
        return scores


class Maxout(nn.Module):
    """Layers whose units are the largest of several linear functions (Goodfellow et al. 2013).

    Args:
        widths: Of the input, and of each layer.
        dropouts: After each layer but the last.
        pool: Linear functions of a unit.
    """

    def __init__(self, widths: Sequence[int], *, dropouts: Sequence[float], pool: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(before, after * pool) for before, after in itertools.pairwise(widths))
        self.dropouts = (*dropouts, 0.0)
        self.pool = pool

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, D) to (B, K)."""
        for layer, dropout in zip(self.layers, self.dropouts, strict=True):
            vectors = layer(vectors).unflatten(1, (-1, self.pool)).amax(dim=2)
            vectors = nn.functional.dropout(vectors, dropout, self.training)
        return vectors

"""The network that compares two sentences (ESIM: Chen et al. 2017), with contextual vectors after its first encoder.

Shapes: B pairs, N tokens of a batch in flat order, T tokens of the longest sentence, W width of a state, H cells of a
direction, K labels.
"""

import torch
from torch import Tensor, nn

from polyseme.nn.bilstm import BiLstm
from polyseme.nn.packing import Packing
from polyseme.tasks.attention import attended
from polyseme.tasks.inputs import Vectors
from polyseme.tasks.pooling import masked_max, masked_mean
from polyseme.tasks.words import padded_rows


class Esim(nn.Module):
    """biLSTM -> attention both ways -> [a; b; a - b; a * b] -> relu layer -> biLSTM -> pools -> relu layer -> scores.

    Args:
        input_dim: Width of the vectors at the input.
        output_dim: Width of those that are put beside the states of the first encoder.
        labels: How many, K.
        hidden_dim: Cells of each direction of both LSTMs.
        depth: Layers of the first LSTM.
        dropout: On all vectors, and around both relu layers.
    """

    def __init__(
        self, *, input_dim: int, output_dim: int, labels: int, hidden_dim: int, depth: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.encoder = BiLstm(input_dim=input_dim, hidden_dim=hidden_dim, layers=depth, dropout=dropout)
        width = self.encoder.dim + output_dim
        self.projection = nn.Sequential(nn.Linear(4 * width, hidden_dim), nn.ReLU(), nn.Dropout(dropout))
        self.composer = BiLstm(input_dim=hidden_dim, hidden_dim=hidden_dim)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(4 * self.composer.dim, hidden_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, labels),
        )

    def forward(self, vectors: Vectors, packing: Packing) -> Tensor:
        """The vectors of 2B sentences, those of a pair next to each other, to (B, K)."""
        packed = self.dropout(vectors.input)[packing.flat_of_packed]
        states = self.encoder(packed, packing)[-1][packing.packed_of_flat]  # (N, 2H)
        states, mask = padded_rows(torch.cat([states, self.dropout(vectors.output)], dim=1), packing.lengths)
        compared, mask = compare(states[0::2], mask[0::2], states[1::2], mask[1::2])
        composed = self.composer.padded(self.projection(compared), mask)  # (2B, T, 2H)
        pooled = torch.cat([masked_mean(composed, mask), masked_max(composed, mask)], dim=1)  # (2B, 4H)
        scores: Tensor = self.classifier(torch.cat(pooled.chunk(2), dim=1))
        return scores.float()


def compare(first: Tensor, first_mask: Tensor, second: Tensor, second_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Each token beside what it attends to in the other sentence, by the product of both: [a; b; a - b; a * b].

    Args:
        first: (B, T, W)
        first_mask: (B, T), true at tokens.
        second: (B, T, W)
        second_mask: (B, T)

    Returns:
        (2B, T, 4W), all first sentences and then all second ones, and their mask (2B, T).
    """
    scores = first @ second.transpose(1, 2)  # (B, T, T)
    found = torch.cat([attended(scores, second, second_mask), attended(scores.transpose(1, 2), first, first_mask)])
    states = torch.cat([first, second])
    return torch.cat([states, found, states - found, states * found], dim=2), torch.cat([first_mask, second_mask])

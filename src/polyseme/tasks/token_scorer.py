"""The network that taggers share: scores of every label for every token."""

import torch
from torch import Tensor, nn

from polyseme.nn.bilstm import BiLstm
from polyseme.nn.packing import Packing
from polyseme.tasks.inputs import Vectors


class TokenScorer(nn.Module):
    """Vectors -> dropout -> biLSTM -> [h; vectors at the output] -> dropout -> scores.

    Args:
        input_dim: Width of the vectors at the input.
        output_dim: Width of those at the output.
        labels: How many, K.
        hidden_dim: Cells of each direction.
        depth: Layers of the LSTM.
        dropout: Before, between and after the layers.
    """

    def __init__(
        self, *, input_dim: int, output_dim: int, labels: int, hidden_dim: int, depth: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.encoder = BiLstm(input_dim=input_dim, hidden_dim=hidden_dim, layers=depth, dropout=dropout)
        self.output = nn.Linear(self.encoder.dim + output_dim, labels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Vectors, packing: Packing) -> Tensor:
        """(N, K) in packed order."""
        packed = packing.flat_of_packed
        states = self.encoder(self.dropout(vectors.input)[packed], packing)[-1]  # (N, 2H) packed
        scores: Tensor = self.output(self.dropout(torch.cat([states, vectors.output[packed]], dim=1)))
        return scores.float()

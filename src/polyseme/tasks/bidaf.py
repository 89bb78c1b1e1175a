"""The network that finds an answer in a passage (BiDAF: Seo et al. 2017) with self-attention (Clark and Gardner 2018).

Shapes: B questions, N tokens of a batch in flat order, T tokens of the longest passage, H cells of a direction, W = 2H.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyseme.nn.bilstm import BiLstm
from polyseme.nn.highway import Highway
from polyseme.nn.packing import Packing
from polyseme.tasks.attention import BothWays, SelfAttention
from polyseme.tasks.inputs import Vectors
from polyseme.tasks.words import padded_rows


class SpanScores(NamedTuple):
    """Log-probabilities of where an answer begins and ends; -inf at padding."""

    start: Tensor
    """(B, T) of its first token."""
    end: Tensor
    """(B, T) of its last token."""


class Bidaf(nn.Module):
    """Layer -> highways -> biLSTM -> attention both ways -> residual self-attention -> biLSTM -> start; biLSTM -> end.

    The vectors are brought to 2H before the highways, so that these stay small beside wide contextual vectors.

    Args:
        input_dim: Width of the vectors at the input.
        output_dim: Width of those that are put beside the states of the first LSTM.
        hidden_dim: Cells of each direction of all LSTMs.
        depth: Layers of the LSTM after the attention.
        dropout: Before every layer.
    """

    def __init__(
        self, *, input_dim: int, output_dim: int, hidden_dim: int, depth: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        width = 2 * hidden_dim
        self.dropout = nn.Dropout(dropout)
        self.feed = nn.Sequential(nn.Linear(input_dim, width), Highway(width), Highway(width))
        self.encoder = BiLstm(input_dim=width, hidden_dim=hidden_dim)
        self.attention = BothWays(width + output_dim)
        self.merge = nn.Sequential(nn.Linear(self.attention.dim, width), nn.ReLU())
        self.self_encoder = BiLstm(input_dim=width, hidden_dim=hidden_dim)
        self.self_attention = SelfAttention(width)
        self.self_merge = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU())
        self.start_encoder = BiLstm(input_dim=width, hidden_dim=hidden_dim, layers=depth, dropout=dropout)
        self.end_encoder = BiLstm(input_dim=2 * width, hidden_dim=hidden_dim)
        self.start = nn.Linear(width, 1)
        self.end = nn.Linear(width, 1)

    def forward(self, vectors: Vectors, lengths: Sequence[int]) -> SpanScores:
        """Where the answers are.

        Args:
            vectors: Of each question and then of its passage.
            lengths: Tokens of the first question, of its passage, of the second question and so on: 2B.
        """
        packing = Packing.of(lengths, vectors.input.device)
        fed = self.dropout(self.feed(self.dropout(vectors.input)))
        states = self.encoder(fed[packing.flat_of_packed], packing)[-1][packing.packed_of_flat]  # (N, 2H)
        question, passage = _sides(self.dropout(torch.cat([states, vectors.output], dim=1)), lengths)
        question_states, question_mask = padded_rows(question, lengths[0::2])
        passage_states, mask = padded_rows(passage, lengths[1::2])
        merged = self.merge(self.attention(passage_states, mask, question_states, question_mask))  # (B, T, W)
        merged = merged + self._to_itself(self.dropout(merged), mask)
        first = self.start_encoder.padded(self.dropout(merged), mask)
        last = self.end_encoder.padded(self.dropout(torch.cat([merged, first], dim=2)), mask)
        return SpanScores(
            _log_shares(self.start(self.dropout(first)), mask), _log_shares(self.end(self.dropout(last)), mask)
        )

    def _to_itself(self, merged: Tensor, mask: Tensor) -> Tensor:
        """What the self-attention adds: (B, T, W)."""
        states = self.dropout(self.self_encoder.padded(merged, mask))
        found = self.self_attention(states, mask)
        added: Tensor = self.self_merge(torch.cat([states, found, states * found], dim=2))
        return added


def _sides(flat: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The rows of all questions and those of all passages, each end to end."""
    parts = flat.split(list(lengths))
    return torch.cat(parts[0::2]), torch.cat(parts[1::2])


def _log_shares(scores: Tensor, mask: Tensor) -> Tensor:
    """(B, T, 1) to log-probabilities (B, T)."""
    return scores.squeeze(2).float().masked_fill(~mask, -torch.inf).log_softmax(dim=1)

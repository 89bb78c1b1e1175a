"""Convolutions over the characters of a word."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.nn.backend import choose_backend
from polyseme.nn.choices import Activation
from polyseme.nn.kernels.char_cnn import filter_table, window_maxima

_FEW_CHARACTERS = 512
"""Up to this number of characters, the tables of all characters are computed for every batch."""


class CharacterCnn(nn.Module):
    """Turns the characters of a word into one vector: embedding, convolutions, max over positions, activation.

    Args:
        characters: Rows of the character embedding.
        character_dim: Width of a character vector.
        filters: ``(width, count)`` of each convolution.
        activation: Applied after the maximum.
        padding_id: The character that fills a word up to its fixed length.
    """

    def __init__(
        self,
        *,
        characters: int,
        character_dim: int,
        filters: Sequence[tuple[int, int]],
        activation: Activation,
        padding_id: int,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, character_dim)
        self.convolutions = nn.ModuleList(nn.Conv1d(character_dim, count, width) for width, count in filters)
        self.activation = activation
        self.padding_id = padding_id
        self.widest = max(width for width, _ in filters)
        self.dim = sum(count for _, count in filters)

    def forward(self, character_ids: Tensor) -> Tensor:
        """Encode words.

        Args:
            character_ids: (U, C)

        Returns:
            (U, F)
        """
        weight = self.embedding.weight
        if choose_backend("float32", device=weight.device, dtype=weight.dtype) == "kernels":
            ids, rows, padding_id = self._present(character_ids)
            features = window_maxima(ids, padding_id, self.biases(), self.tables(rows))
        else:
            characters = self.embedding(self._trim(character_ids).long()).transpose(1, 2)  # (U, character_dim, C')
            features = torch.cat([convolution(characters).amax(dim=2) for convolution in self.convolutions], dim=1)
        return features.relu() if self.activation == "relu" else features.tanh()

    def tables(self, rows: Tensor | None = None) -> list[Tensor]:
        """The response of each filter to each character at each offset, (width, characters, filters) per convolution.

        Args:
            rows: Vectors of the characters; by default the whole embedding.
        """
        rows = self.embedding.weight if rows is None else rows
        with torch.autocast(rows.device.type, enabled=False):
            return [filter_table(rows, convolution.weight) for convolution in self._convolutions()]

    def biases(self) -> Tensor:
        """The bias of every filter: (F,)."""
        return torch.cat([convolution.bias for convolution in self._convolutions() if convolution.bias is not None])

    def _present(self, character_ids: Tensor) -> tuple[Tensor, Tensor, int]:
        """Renumber the characters of a batch; return the new ids, their embeddings and the new id of the padding.

        A batch uses a few hundred of the thousands of characters; tables for the others would be wasted work.
        """
        weight = self.embedding.weight
        if len(weight) <= _FEW_CHARACTERS:
            return character_ids, weight, self.padding_id
        padding = character_ids.new_tensor([self.padding_id])
        present, ids = torch.unique(torch.cat([padding, character_ids.flatten()]), return_inverse=True)
        if not 0 <= int(present[0]) <= int(present[-1]) < len(weight):
            raise IndexError(f"character ids must be within 0..{len(weight) - 1}")
        return ids[1:].view_as(character_ids), weight[present.long()], int(ids[0])

    def _convolutions(self) -> list[nn.Conv1d]:
        return [convolution for convolution in self.convolutions if isinstance(convolution, nn.Conv1d)]

    def _trim(self, character_ids: Tensor) -> Tensor:
        """Drop positions that cannot change the maximum.

        Beyond the longest word every window contains only padding and gives the same value, so keeping one such window
        of the widest filter gives the same result as the full length.
        """
        used = (character_ids != self.padding_id).any(dim=0).nonzero()
        longest = int(used[-1]) + 1 if len(used) else 0
        return character_ids[:, : longest + self.widest]

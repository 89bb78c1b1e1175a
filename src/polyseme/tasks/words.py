"""The words of a batch of sentences as tensors: what a task model reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.packing import Packing


@dataclass(frozen=True)
class Words:
    """All tokens of a batch in flat order, sentence after sentence. N tokens, of which U distinct words."""

    packing: Packing
    """Of the sentences; their lengths are here."""
    types: Tensor
    """(N,) which of the distinct words a token is."""
    ids: Tensor
    """(U,) of the learned vectors; 0 for a word without."""
    cases: Tensor
    """(U,)"""
    characters: Tensor
    """(U, C)"""
    static: Sequence[Tensor] = ()
    """(U, D) for each static source."""
    rows: Sequence[Tensor] = ()
    """(U,) for each static source: the row of a word in the table that learns, or -1."""
    contextual: Sequence[Tensor] = ()
    """(N, L, D) for each contextual source that is fixed; (U, W) ids of the words for one that learns."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each sentence."""
        return self.packing.lengths

    def padded(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of flat order (N, D) as (S, T, D), zero at padding, and the mask (S, T), true at tokens."""
        return padded_rows(flat, self.lengths)


def padded_rows(flat: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Rows of sequences end to end (N, D) as (S, T, D), zero at padding, and the mask (S, T), true at tokens."""
    mask = length_mask(lengths, flat.device)
    rows = flat.new_zeros((*mask.shape, flat.shape[-1]))
    return rows.masked_scatter(mask.unsqueeze(-1), flat), mask


def length_mask(lengths: Sequence[int], device: torch.device | str = "cpu") -> Tensor:
    """(S, T), true at the tokens of sentences with these lengths.

    Example:
        >>> length_mask([1, 3]).int()
        tensor([[1, 0, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    size = torch.tensor(lengths, device=device)
    return torch.arange(int(size.max()), device=device) < size.unsqueeze(1)

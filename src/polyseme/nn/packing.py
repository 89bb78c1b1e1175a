"""Lays out sequences of different lengths time-major without padding.

*Flat* order is sentence after sentence, in the caller's order. *Packed* order is all first tokens, then all second
tokens and so on, longest sentence first, so that step t of a recurrent layer is one block of rows, and the sequences
that have not ended are always the first rows of the block. Nothing is ever computed for padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """The position of each token of a batch in packed order."""

    lengths: tuple[int, ...]
    """Tokens of each sequence, in the caller's order; every one at least 1."""
    order: Tensor
    """(B,) the caller's sequence at each packed rank, longest first."""
    rank: Tensor
    """(B,) the packed rank of each of the caller's sequences."""
    batch_sizes: tuple[int, ...]
    """The number of sequences that have not ended at each step."""
    packed_of_flat: Tensor
    """(N,) the packed row of each flat row."""
    flat_of_packed: Tensor
    """(N,) the flat row of each packed row."""
    reverse: Tensor
    """(N,) packed rows with every sequence reversed within its own length; applying it twice changes nothing."""

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device | str = "cpu") -> "Packing":
        """Lay out sequences of these lengths."""
        if not lengths or min(lengths) < 1:
            raise ValueError("a packing needs at least one sequence, and every length must be at least 1")
        size = torch.tensor(lengths)  # (B,)
        order = torch.argsort(size, descending=True, stable=True)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(lengths))
        steps = int(size[order[0]])
        # A sequence of length n takes part in steps 0..n-1.
        batch_sizes = torch.bincount(size, minlength=steps + 1).flip(0).cumsum(0).flip(0)[1:]
        offset = batch_sizes.cumsum(0) - batch_sizes  # (T,) the first packed row of each step
        sequence = torch.repeat_interleave(torch.arange(len(lengths)), size)  # (N,)
        step = torch.arange(int(size.sum())) - (size.cumsum(0) - size)[sequence]
        packed_of_flat = offset[step] + rank[sequence]
        flat_of_packed = torch.empty_like(packed_of_flat)
        flat_of_packed[packed_of_flat] = torch.arange(len(packed_of_flat))
        reverse = torch.empty_like(packed_of_flat)
        reverse[packed_of_flat] = offset[size[sequence] - 1 - step] + rank[sequence]
        return cls(
            lengths=tuple(lengths),
            order=order.to(device),
            rank=rank.to(device),
            batch_sizes=tuple(batch_sizes.tolist()),
            packed_of_flat=packed_of_flat.to(device),
            flat_of_packed=flat_of_packed.to(device),
            reverse=reverse.to(device),
        )

"""One vector from the vectors of many tokens, padding left out. Shapes: B texts, T tokens, D width."""

import torch
from torch import Tensor


def masked_mean(vectors: Tensor, mask: Tensor) -> Tensor:
    """The mean over tokens: (B, T, D) with a mask (B, T), true at tokens, to (B, D)."""
    kept = mask.unsqueeze(-1).to(vectors.dtype)
    return (vectors * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)


def masked_max(vectors: Tensor, mask: Tensor) -> Tensor:
    """The maximum over tokens: (B, D)."""
    return vectors.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=1)


def masked_min(vectors: Tensor, mask: Tensor) -> Tensor:
    """The minimum over tokens: (B, D)."""
    return vectors.masked_fill(~mask.unsqueeze(-1), torch.inf).amin(dim=1)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """A softmax over the last dimension, 0 where the mask is false; the mask must be true somewhere in each row."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

"""The learned weighted sum of layers that makes one ELMo vector."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

Regulariser = Literal["weights", "distance"]


class ScalarMix(nn.Module):
    """gamma * sum_j softmax(w)_j * h_j (Peters et al. 2018, equation 1).

    Args:
        layers: The number of layers.
        layer_norm: Normalise each layer over its unmasked positions first.
        initial_weights: w before training; zeros by default, which gives the mean.
        trainable: Whether w and gamma are trained.

    Example:
        >>> mix = ScalarMix(3)
        >>> mix([torch.ones(2, 4, 8), torch.zeros(2, 4, 8), torch.full((2, 4, 8), 5.0)])[0, 0, 0]
        tensor(2., grad_fn=<SelectBackward0>)
    """

    def __init__(
        self,
        layers: int,
        *,
        layer_norm: bool = False,
        initial_weights: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        weights = [0.0] * layers if initial_weights is None else list(initial_weights)
        if len(weights) != layers:
            raise ValueError(f"initial_weights holds {len(weights)} numbers, expected one for each of {layers} layers")
        self.weights = nn.Parameter(torch.tensor(weights, dtype=torch.float32), requires_grad=trainable)
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trainable)
        self.layer_norm = layer_norm

    def forward(self, layers: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """Mix layers of one shape.

        Args:
            layers: Each (B, T, D) or (T, D).
            mask: (B, T) or (T,), true for tokens; needed for layer norm if there is padding.

        Returns:
            One tensor of the same shape.
        """
        if len(layers) != len(self.weights):
            raise ValueError(f"got {len(layers)} layers, expected {len(self.weights)}")
        if self.layer_norm:
            layers = [_masked_layer_norm(layer, mask) for layer in layers]
        mixed = torch.zeros_like(layers[0])
        for share, layer in zip(self.shares(), layers, strict=True):
            mixed = mixed + share * layer
        return self.gamma * mixed

    def shares(self) -> Tensor:
        """The share of each layer, softmax(w): (L,)."""
        return self.weights.softmax(dim=0)

    def penalty(self, strength: float, *, kind: Regulariser = "weights") -> Tensor:
        """A term to add to a task's loss that keeps the mix near the mean.

        ``"weights"`` is strength * ||w||^2 as published; ``"distance"`` is strength * ||softmax(w) - 1/L||^2.
        """
        if kind not in get_args(Regulariser):
            raise ValueError(f"kind is {kind!r}, expected one of {', '.join(get_args(Regulariser))}")
        away = self.weights if kind == "weights" else self.shares() - 1 / len(self.weights)
        return strength * away.square().sum()

    def extra_repr(self) -> str:
        """Show the shares and gamma when printed."""
        shares = ", ".join(f"{share:.3f}" for share in self.shares().tolist())
        return f"shares=[{shares}], gamma={self.gamma.item():.3f}, layer_norm={self.layer_norm}"


def _masked_layer_norm(layer: Tensor, mask: Tensor | None) -> Tensor:
    """Normalise by the mean and standard deviation over all unmasked numbers of the batch together."""
    kept = torch.ones_like(layer[..., :1]) if mask is None else mask.unsqueeze(-1).to(layer.dtype)
    count = kept.sum() * layer.shape[-1]
    masked = layer * kept
    mean = masked.sum() / count
    variance = ((masked - mean) * kept).square().sum() / count
    return (layer - mean) / torch.sqrt(variance + 1e-13)

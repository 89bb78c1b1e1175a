"""The highway layer between the character filters and the projection."""

import torch
from torch import Tensor, nn

from polyseme.nn.linear import highway


class Highway(nn.Module):
    """y = g * x + (1 - g) * relu(Wx + b) with g = sigmoid(W'x + b').

    ``weight`` holds both matrices, the nonlinear one first: (2F, F).
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2 * dim, dim))
        self.bias = nn.Parameter(torch.empty(2 * dim))
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias[:dim])
        # A positive bias lets the input through at the start of training (Srivastava et al. 2015, section 3.1).
        nn.init.ones_(self.bias[dim:])

    def forward(self, inputs: Tensor) -> Tensor:
        """Carry part of ``inputs`` (..., F) and transform the rest."""
        return highway(inputs, self.weight, self.bias)

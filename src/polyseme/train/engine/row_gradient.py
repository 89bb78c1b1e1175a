"""Gradients of a few rows of a large table, such as the softmax over a vocabulary."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class RowTable:
    """A table of which a batch uses a few rows, so that gradients and updates are made for those rows alone."""

    weight: nn.Parameter
    """(V, P)"""
    bias: nn.Parameter
    """(V,)"""


@dataclass
class RowGradient:
    """The gradient of a few rows of a table."""

    rows: Tensor
    """(R,) distinct and ascending."""
    weight: Tensor
    """(R, P)"""
    bias: Tensor
    """(R,)"""


def sum_gradients(gradients: Sequence[RowGradient]) -> RowGradient | None:
    """The sum of the gradients of several batches; None if there is none."""
    if len(gradients) < 2:
        return gradients[0] if gradients else None
    rows, where = torch.unique(torch.cat([one.rows for one in gradients]), return_inverse=True)
    weight = gradients[0].weight.new_zeros(len(rows), gradients[0].weight.shape[1])
    weight.index_add_(0, where, torch.cat([one.weight for one in gradients]))
    bias = gradients[0].bias.new_zeros(len(rows))
    bias.index_add_(0, where, torch.cat([one.bias for one in gradients]))
    return RowGradient(rows, weight, bias)

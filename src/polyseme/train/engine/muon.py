"""Muon: momentum whose matrices are brought close to orthogonal ones before they are applied (Jordan et al. 2024).

As `torch.optim.Muon` with the rate adjusted to steps of AdamW's size, so that AdamW's rate and weight decay serve for
both. What differs is how it is computed: in float32 the iteration is a polynomial in the small product of a matrix with
itself, so that a long matrix is multiplied twice, however many steps there are; and matrices that are stored as one,
such as the gates of an LSTM, are treated one by one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.train.engine.checkpoint import State

LARGEST = 512
"""Matrices whose shorter side is longer than this are left to AdamW: the time of an update grows with its cube."""
_MOMENTUM = 0.95
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of x, x^3 and x^5: all singular values come near 1 within a few steps
_STEPS = 5
_EPSILON = 1e-7
_SIZE = 0.2  # the root mean square of a usual step of AdamW, in units of the rate (Liu et al. 2025)


@dataclass(frozen=True)
class Matrix:
    """A weight matrix between two layers; several of the same shape may be stored one below the other."""

    parameter: Tensor
    """(blocks * M, N)"""
    blocks: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of one block."""
        rows, columns = self.parameter.shape
        return rows // self.blocks, columns

    def divide(self, tensor: Tensor) -> Tensor:
        """A tensor of the parameter's shape as (blocks, M, N)."""
        return tensor.view(self.blocks, *self.shape)


class Muon:
    """Updates matrices.

    Args:
        matrices: Those to update, from their parameters' gradients.
        weight_decay: As AdamW's.
        dtype: The number type of the iteration that makes matrices orthogonal. bfloat16 takes half the time
            where the processor has instructions for it; momenta and weights are in the parameters' own type.
    """

    def __init__(self, matrices: Sequence[Matrix], *, weight_decay: float, dtype: torch.dtype = torch.float32) -> None:
        self.matrices = matrices
        self._weight_decay = weight_decay
        self._dtype = dtype
        self._momenta = [torch.zeros_like(matrix.parameter.detach()) for matrix in matrices]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Apply the gradients; a matrix without one stays as it is."""
        for matrix, momentum in zip(self.matrices, self._momenta, strict=True):
            parameter, gradient = matrix.parameter, matrix.parameter.grad
            if gradient is None:
                continue
            momentum.lerp_(gradient, 1 - _MOMENTUM)
            ahead = gradient.lerp(momentum, _MOMENTUM)  # Nesterov's
            parameter.mul_(1 - rate * self._weight_decay)
            size = rate * _SIZE * math.sqrt(max(matrix.shape))
            parameter.add_(orthogonal(matrix.divide(ahead), self._dtype).view_as(parameter), alpha=-size)

    def state(self) -> State:
        """Everything that is needed to continue."""
        return {"momenta": self._momenta}

    def restore(self, state: State) -> None:
        """Continue from what `state` gave."""
        for momentum, stored in zip(self._momenta, state["momenta"], strict=True):
            momentum.copy_(stored)


def orthogonal(matrices: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Matrices (B, M, N) with their singular values brought to between about 0.7 and 1.2, by Newton-Schulz steps.

    With X = U S V', a step is a X + b (X X') X + c (X X')^2 X. It changes S alone. Computed and returned in `dtype`.
    """
    wide = matrices.shape[1] < matrices.shape[2]
    long = matrices.mT if wide else matrices  # (B, M, N), M >= N
    long = long / torch.linalg.matrix_norm(long, keepdim=True).clamp(min=_EPSILON)
    result = _in_small_products(long) if dtype == torch.float32 else _step_by_step(long.to(dtype))
    return result.transpose(1, 2) if wide else result


def _in_small_products(long: Tensor) -> Tensor:
    """All steps as X P1 P2 ..., each P a polynomial in the X' X of its step, which follows from that of the one before.

    The long matrix is multiplied twice. This needs float32: with fewer bits small eigenvalues of X' X are lost to
    rounding, may come out negative, and then grow without bound.
    """
    first, third, fifth = _COEFFICIENTS
    square = long.mT @ long  # (B, N, N)
    eye = first * torch.eye(square.shape[1], dtype=square.dtype, device=square.device)
    product: Tensor | None = None
    for step in range(_STEPS):
        factor = torch.baddbmm(eye + third * square, square, square, alpha=fifth)
        product = factor if product is None else product @ factor
        if step < _STEPS - 1:
            square = factor @ square @ factor  # that of the next step: the factors are symmetric
    assert product is not None
    return long @ product


def _step_by_step(long: Tensor) -> Tensor:
    """The steps one after the other: X' X is computed anew in each, so that rounding does not add up."""
    first, third, fifth = _COEFFICIENTS
    for _ in range(_STEPS):
        square = long.mT @ long  # (B, N, N)
        factor = torch.baddbmm(square, square, square, beta=third, alpha=fifth)
        long = torch.baddbmm(long, long, factor, beta=first)
    return long

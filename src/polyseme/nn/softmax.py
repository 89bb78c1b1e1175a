"""The output layer of a language model: which word stands here."""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

CHUNK_NUMBERS = 1 << 24
"""Logits are made for about this many numbers at a time (64 MiB), however many words and tokens there are."""


class Softmax(nn.Module, ABC):
    """What any output layer offers; both directions share it."""

    vocabulary_size: int

    @abstractmethod
    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (..., P) to (..., V)."""

    @abstractmethod
    def nll(self, states: Tensor, targets: Tensor) -> Tensor:
        """Negative log-likelihood of the targets (N,) after the states (N, P), summed; to be trained on."""

    def log_probability(self, states: Tensor, targets: Tensor, *, rows: int = 256) -> Tensor:
        """Log-probability of one word after each state, a few rows at a time to bound memory.

        Args:
            states: (N, P)
            targets: (N,) word ids.
            rows: How many states meet the vocabulary at once.

        Returns:
            (N,)
        """
        parts = [
            self(some).gather(1, wanted.unsqueeze(1)).squeeze(1)
            for some, wanted in zip(states.split(rows), targets.split(rows), strict=True)
        ]
        return torch.cat(parts)


class FullSoftmax(Softmax):
    """One row a word: ``weight`` is (V, P), ``bias`` (V,)."""

    def __init__(self, dim: int, vocabulary_size: int) -> None:
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.weight = nn.Parameter(torch.empty(vocabulary_size, dim))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        nn.init.normal_(self.weight, std=1 / math.sqrt(dim))

    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (..., P) to (..., V)."""
        return nn.functional.linear(states, self.weight, self.bias).log_softmax(dim=-1)

    def nll(self, states: Tensor, targets: Tensor) -> Tensor:
        """Summed negative log-likelihood; the (N, V) logits never exist at once, not even for the gradient."""
        total: Tensor = _FullNll.apply(states, self.weight, self.bias, targets)  # type: ignore[no-untyped-call]
        return total


def compute_type(states: Tensor) -> torch.dtype:
    """What matrix products are computed in here: autocast's type inside it, else that of the states."""
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


class _FullNll(torch.autograd.Function):
    """Cross entropy and its gradient in one pass over chunks of rows."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        dtype = compute_type(states)
        with torch.autocast(states.device.type, enabled=False):
            table, inputs = weight.to(dtype), states.to(dtype)
            states_grad = torch.empty_like(states)
            weight_grad, bias_grad = torch.zeros_like(weight), torch.zeros_like(bias)
            total = states.new_zeros((), dtype=torch.float64)
            size = max(1, CHUNK_NUMBERS // len(weight))
            for start in range(0, len(states), size):
                some, wanted = inputs[start : start + size], targets[start : start + size]
                logits = (some @ table.t()).to(bias.dtype).add_(bias)  # (n, V)
                top = logits.amax(dim=1, keepdim=True)
                target_logit = logits.gather(1, wanted.unsqueeze(1))
                share = logits.sub_(top).exp_()
                mass = share.sum(dim=1, keepdim=True)
                total += (top + mass.log() - target_logit).sum(dtype=torch.float64)
                share.div_(mass)  # the gradient of the logits, but for the target's 1
                share.scatter_add_(1, wanted.unsqueeze(1), share.new_full((len(wanted), 1), -1.0))
                bias_grad += share.sum(dim=0)
                share = share.to(dtype)
                states_grad[start : start + size] = share @ table
                weight_grad += share.t() @ some
        ctx.save_for_backward(states_grad, weight_grad, bias_grad)
        return total.to(weight.dtype)

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        states_grad, weight_grad, bias_grad = ctx.saved_tensors
        return states_grad * scale, weight_grad * scale, bias_grad * scale, None

"""The output layer of a language model: a distribution over words for every position."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from polyseme.nn.backend import backend_for
from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.softmax import full_pass

CHUNK_NUMBERS = 1 << 22
"""Logits are computed in chunks of about this many, however many words and tokens there are."""
LEAST_ROWS = 128
"""A chunk has at least this many tokens, because each chunk reads and writes the whole table once."""
TILE = 1024
"""Number of tokens and of words in one tile of logits if no gradient is needed."""
DEVICES_WITHOUT_FLOAT64 = frozenset({"mps"})
"""Devices that have no float64."""


class Softmax(nn.Module, ABC):
    """The interface of every output layer; both directions share one."""

    vocabulary_size: int

    @abstractmethod
    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (..., P) to (..., V)."""

    @abstractmethod
    def nll(self, states: Tensor, targets: Tensor) -> Tensor:
        """Summed negative log-likelihood of the targets (N,) after the states (N, P), with gradients for training."""

    @abstractmethod
    def log_probability(self, states: Tensor, targets: Tensor) -> Tensor:
        """Log-probability (N,) of one word (N,) after each state (N, P), in bounded memory."""


class FullSoftmax(Softmax):
    """One row per word: ``weight`` is (V, P), ``bias`` (V,)."""

    def __init__(self, dim: int, vocabulary_size: int) -> None:
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.weight = nn.Parameter(torch.empty(vocabulary_size, dim))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        nn.init.normal_(self.weight, std=1 / math.sqrt(dim))

    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (..., P) to (..., V)."""
        return nn.functional.linear(states, self.weight, self.bias).log_softmax(dim=-1)

    def log_probability(self, states: Tensor, targets: Tensor) -> Tensor:
        """See `Softmax`."""
        return target_log_probability(states, self.weight, self.bias, targets)

    def nll(self, states: Tensor, targets: Tensor) -> Tensor:
        """Summed negative log-likelihood; the (N, V) logits are never in memory at once, not even for the gradient."""
        return full_nll(states, self.weight, self.bias, targets)


def target_log_probability(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Log-probability (N,) of one target per state (N, P) in a softmax over all rows (V, P).

    Logits are computed and summed one tile at a time; a tile fits into the processor's cache, which halves the time.
    """
    parts = []
    for some, wanted in zip(states.split(TILE), targets.split(TILE), strict=True):
        tiles = zip(weight.split(TILE), bias.split(TILE), strict=True)
        sums = [_logits(some, table, offset).logsumexp(dim=1) for table, offset in tiles]
        hit = (some * weight[wanted]).sum(dim=1) + bias[wanted]
        parts.append(hit - torch.stack(sums).logsumexp(dim=0))
    return torch.cat(parts)


def _logits(states: Tensor, table: Tensor, bias: Tensor) -> Tensor:
    """The logits (N, V) of states (N, P) for rows (V, P)."""
    learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (states, table, bias))
    if not learns and compute_type(states) == torch.float32 and backend_for((states, table), "float32") == "kernels":
        return product(states, table.t(), "float32", bias=bias)
    return torch.addmm(bias, states, table.t())


def full_nll(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Summed cross entropy of states (N, P) with rows (V, P) and a bias (V,), in bounded memory."""
    total: Tensor = _FullNll.apply(states, weight, bias, targets)  # type: ignore[no-untyped-call]
    return total


def compute_type(states: Tensor) -> torch.dtype:
    """The number type of matrix products: autocast's type if autocast is on, else that of the states."""
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


def kernel_precision(states: Tensor, *weights: Tensor) -> Precision | None:
    """The precision of the kernel that computes the loss; None if torch does."""
    dtype = compute_type(states)
    if states.dtype == torch.float64 or dtype not in (torch.float32, torch.bfloat16):
        return None
    precision: Precision = "bfloat16" if dtype == torch.bfloat16 else "float32"
    return precision if backend_for(weights, precision, gradients=True) == "kernels" else None


def on_float64_device(tensor: Tensor) -> Tensor:
    """The tensor itself, or a copy on the CPU if its own device has no float64."""
    return tensor.cpu() if tensor.device.type in DEVICES_WITHOUT_FLOAT64 else tensor


def summed_log(shares: Tensor) -> Tensor:
    """The sum of the logarithms of probabilities in float64; a probability of 0 counts as the smallest float32."""
    logarithms = shares.float().clamp(min=torch.finfo(torch.float32).tiny).log()
    return on_float64_device(logarithms).sum(dtype=torch.float64)


class _FullNll(torch.autograd.Function):
    """Cross entropy and its gradient in one pass over chunks of rows."""

    @staticmethod
    def forward(ctx: Ctx, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        dtype = compute_type(states)
        if (precision := kernel_precision(states, weight, bias)) is not None:
            size = max(LEAST_ROWS, CHUNK_NUMBERS // len(weight))
            total, *gradients = full_pass(states.float(), weight, bias, targets, precision=precision, chunk=size)
            ctx.save_for_backward(*gradients)
            return total.to(weight.dtype)
        with torch.autocast(states.device.type, enabled=False):
            table, inputs = weight.to(dtype), states.to(dtype)
            states_grad = torch.empty_like(states)
            weight_grad, bias_grad = torch.zeros_like(weight), torch.zeros_like(bias)
            total = on_float64_device(states.new_zeros(())).double()
            table_bias = bias.to(dtype)
            size = max(LEAST_ROWS, CHUNK_NUMBERS // len(weight))
            for start in range(0, len(states), size):
                some, wanted = inputs[start : start + size], targets[start : start + size].unsqueeze(1)
                share = torch.addmm(table_bias, some, table.t()).softmax(dim=1)  # (n, V)
                total -= summed_log(share.gather(1, wanted))
                # The gradient of the logits is each word's probability, less 1 for the target.
                share.scatter_add_(1, wanted, share.new_full(wanted.shape, -1.0))
                bias_grad += share.sum(dim=0, dtype=bias.dtype)
                states_grad[start : start + size] = share @ table
                weight_grad += share.t() @ some
        ctx.save_for_backward(states_grad, weight_grad, bias_grad)
        return total.to(weight.dtype).to(weight.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, scale: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        states_grad, weight_grad, bias_grad = ctx.saved_tensors
        return states_grad * scale, weight_grad * scale, bias_grad * scale, None

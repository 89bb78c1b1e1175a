"""The loss of a softmax and its gradients, in chunks of states."""

from collections.abc import Iterator

import torch
from torch import Tensor

from polyseme.nn.kernels.packed import Precision
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.rows import column_sums, softmax_gradients

Result = tuple[Tensor, Tensor, Tensor, Tensor]
"""The summed negative log-likelihood in float64, and the gradients of states, weight and bias."""


def full_pass(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, *, precision: Precision, chunk: int
) -> Result:
    """Cross entropy of states (N, P) with rows (V, P) and a bias (V,)."""
    states_grad, weight_grad, bias_grad = torch.empty(states.shape), torch.zeros(weight.shape), torch.zeros(bias.shape)
    total = torch.zeros((), dtype=torch.float64)
    for part, logits, shares in _chunks(len(states), len(weight), precision, chunk):
        product(states[part], weight.t(), precision, bias=bias, into=logits)
        total -= softmax_gradients(logits, targets[part], shares, precision).sum(dtype=torch.float64)
        bias_grad += column_sums(shares)
        product(shares, weight, precision, into=states_grad[part])
        product(shares.t(), states[part], precision, into=weight_grad, add=True)
    return total, states_grad, weight_grad, bias_grad


def sampled_pass(
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    target_row: Tensor,
    negative_row: Tensor,
    hit: Tensor,
    precision: Precision,
    chunk: int,
) -> Result:
    """The sampled softmax; see `polyseme.nn.sampled_softmax`, which computes the same in torch."""
    table, table_bias = weight[negative_row], bias[negative_row]  # (S, P), (S,)
    rounded = table.to(getattr(torch, precision))  # once for all chunks
    table_grad, table_bias_grad = torch.zeros(table.shape), torch.zeros(table_bias.shape)
    states_grad, weight_grad, bias_grad = torch.empty(states.shape), torch.zeros(weight.shape), torch.zeros(bias.shape)
    total = torch.zeros((), dtype=torch.float64)
    for part, logits, shares in _chunks(len(states), len(table), precision, chunk):
        some, rows = states[part], target_row[part]
        wanted = weight[rows]  # (n, P)
        own = (some * wanted).sum(dim=1) + bias[rows]
        product(some, rounded.t(), precision, bias=table_bias, into=logits)
        found = softmax_gradients(logits, hit[part], shares, precision, own=own)
        total -= found.sum(dtype=torch.float64)
        error = found.exp() - 1  # (n,)
        table_bias_grad += column_sums(shares)
        bias_grad.index_add_(0, rows, error)
        weight_grad.index_add_(0, rows, error.unsqueeze(1) * some)
        torch.mul(error.unsqueeze(1), wanted, out=states_grad[part])
        product(shares, rounded, precision, into=states_grad[part], add=True)
        product(shares.t(), some, precision, into=table_grad, add=True)
    weight_grad.index_add_(0, negative_row, table_grad)
    bias_grad.index_add_(0, negative_row, table_bias_grad)
    return total, states_grad, weight_grad, bias_grad


def _chunks(rows: int, columns: int, precision: Precision, size: int) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Yield slices of rows with room for their logits and for the gradients of these."""
    logits = torch.empty(min(rows, size), columns)
    shares = torch.empty(logits.shape, dtype=getattr(torch, precision))
    for start in range(0, rows, size):
        count = min(size, rows - start)
        yield slice(start, start + count), logits[:count], shares[:count]

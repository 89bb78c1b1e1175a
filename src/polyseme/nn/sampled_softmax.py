"""Sampled softmax: the rows of the full softmax, trained against a sample of words shared by the whole batch."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.softmax import sampled_pass
from polyseme.nn.softmax import (
    CHUNK_NUMBERS,
    LEAST_ROWS,
    compute_type,
    kernel_precision,
    on_float64_device,
    summed_log,
)


def log_uniform(ranks: Tensor, vocabulary_size: int) -> Tensor:
    """Probability of words by their frequency rank alone (log-uniform, which is close to Zipf's law).

    Returned in float64, or in float32 on a device without float64.
    """
    shares = torch.log1p(1 / (on_float64_device(ranks).double() + 1)) / math.log(vocabulary_size + 1)
    return shares if shares.device == ranks.device else shares.float().to(ranks.device)


@dataclass(frozen=True)
class Negatives:
    """Distinct words drawn log-uniformly, and the number of draws it took."""

    words: NDArray[np.int64]
    """(S,)"""
    tries: int
    vocabulary_size: int

    @classmethod
    def draw(cls, count: int, vocabulary_size: int, generator: np.random.Generator) -> "Negatives":
        """Draw words until ``count`` distinct ones are found; word k has probability ~ log((k+2)/(k+1))."""
        if not 0 < count <= vocabulary_size // 2:
            raise ValueError(f"{count} distinct words of {vocabulary_size}: draw at most half of them")
        drawn = np.empty(0, dtype=np.int64)
        while True:
            uniform = generator.random(2 * count)
            more = np.exp(uniform * math.log(vocabulary_size + 1)).astype(np.int64) - 1
            drawn = np.concatenate([drawn, np.minimum(more, vocabulary_size - 1)])
            _, first = np.unique(drawn, return_index=True)
            if len(first) >= count:
                first = np.sort(first)[:count]
                return cls(drawn[first], int(first[-1]) + 1, vocabulary_size)

    def log_expected_count(self, words: Tensor) -> Tensor:
        """Log of the expected count of a word among the negatives: 1 - (1 - q)^tries, since they are distinct."""
        probability = log_uniform(on_float64_device(words), self.vocabulary_size)
        return torch.log(-torch.expm1(self.tries * torch.log1p(-probability))).float().to(words.device)


def sampled_nll(
    states: Tensor, weight: Tensor, bias: Tensor, *, rows: Tensor, targets: Tensor, negatives: Negatives
) -> Tensor:
    """Summed negative log-likelihood of targets against negatives (Jean et al. 2015; Jozefowicz et al. 2016).

    Only the needed rows of the softmax are passed in, so that the gradient has no others.

    Args:
        states: (N, P)
        weight: (R, P) the rows of the softmax for the words ``rows``.
        bias: (R,)
        rows: (R,) distinct word ids in ascending order, including all targets and all negatives.
        targets: (N,) word ids.
        negatives: Shared by all states; a negative that is the target of a state is ignored for that state.
    """
    drawn = torch.from_numpy(negatives.words).to(states.device)
    target_row = torch.searchsorted(rows, targets)  # (N,)
    negative_row = torch.searchsorted(rows, drawn)  # (S,)
    correction = negatives.log_expected_count(rows)  # (R,)
    column = torch.full_like(rows, -1)
    column[negative_row] = torch.arange(len(drawn), device=states.device)
    hit = column[target_row]  # (N,)
    total: Tensor = _SampledNll.apply(  # type: ignore[no-untyped-call]
        states, weight, bias - correction, target_row, negative_row, hit
    )
    return total


class _SampledNll(torch.autograd.Function):
    """The loss and its gradient in one pass over chunks of states."""

    @staticmethod
    def forward(
        ctx: Ctx, states: Tensor, weight: Tensor, bias: Tensor, target_row: Tensor, negative_row: Tensor, hit: Tensor
    ) -> Tensor:
        """``hit`` (N,) is the column of the negative that is the state's own target, -1 if there is none."""
        if (precision := kernel_precision(states, weight, bias)) is not None:
            rows = target_row, negative_row, hit
            total, *gradients = sampled_pass(states.float(), weight, bias, *rows, precision, _chunk(negative_row))
            ctx.save_for_backward(*gradients)
            return total.to(weight.dtype)
        dtype = compute_type(states)
        with torch.autocast(states.device.type, enabled=False):
            inputs = states.to(dtype)
            # The extra column is for each state's own target.
            table = nn.functional.pad(weight[negative_row], (0, 0, 0, 1)).to(dtype)  # (S + 1, P)
            table_bias = nn.functional.pad(bias[negative_row], (0, 1)).to(dtype)  # (S + 1,)
            states_grad = torch.empty_like(states)
            weight_grad, bias_grad = torch.zeros_like(weight), torch.zeros_like(bias)
            table_grad = torch.zeros(table.shape, dtype=weight.dtype, device=weight.device)
            table_bias_grad = torch.zeros(table_bias.shape, dtype=weight.dtype, device=weight.device)
            total = on_float64_device(states.new_zeros(())).double()
            size = _chunk(table)
            for start in range(0, len(states), size):
                part = slice(start, start + size)
                wanted, some = weight[target_row[part]], states[part].to(weight.dtype)  # (n, P)
                logits = torch.addmm(table_bias, inputs[part], table.t())  # (n, S + 1)
                own = (hit[part] >= 0).nonzero().squeeze(1)
                logits[own, hit[part][own]] = -math.inf
                logits[:, -1] = ((some * wanted).sum(dim=1) + bias[target_row[part]]).to(dtype)
                share = logits.softmax(dim=1)
                total -= summed_log(share[:, -1])
                error = (share[:, -1].to(weight.dtype) - 1).unsqueeze(1)  # (n, 1)
                table_bias_grad += share.sum(dim=0, dtype=weight.dtype)
                bias_grad.index_add_(0, target_row[part], error.squeeze(1))
                weight_grad.index_add_(0, target_row[part], error * some)
                states_grad[part] = (share @ table).to(weight.dtype) + error * wanted  # the last row of the table is 0
                table_grad += share.t() @ inputs[part]
            weight_grad.index_add_(0, negative_row, table_grad[:-1])
            bias_grad.index_add_(0, negative_row, table_bias_grad[:-1])
        ctx.save_for_backward(states_grad, weight_grad, bias_grad)
        return total.to(weight.dtype).to(weight.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, scale: Tensor) -> tuple[Tensor | None, ...]:
        states_grad, weight_grad, bias_grad = ctx.saved_tensors
        return states_grad * scale, weight_grad * scale, bias_grad * scale, None, None, None


def _chunk(table: Tensor) -> int:
    """How many states are computed at a time."""
    return max(LEAST_ROWS, CHUNK_NUMBERS // len(table))

"""The steps of an attentional decoder over a packed batch, with a backward pass written by hand.

Torch would record some twenty operations for each step, and compute the gradient of every weight at each of them. Here
a step leaves its gates, cells and attention in buffers, and the gradients of weights are one product over all steps.
Shapes: see `polyseme.nn.attention_decoder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.softmax import compute_type


@dataclass(frozen=True)
class Memory:
    """Source sentences as the decoder reads them."""

    both: Tensor
    """(B, S, 2D) keys that are compared with the decoder's state, and values that are summed."""
    offsets: Tensor
    """(B, S) added to the scores; minus infinity at padding."""

    def rows(self, which: Tensor) -> "Memory":
        """The memory of some sentences."""
        return Memory(self.both[which], self.offsets[which])


def one_step(
    gates: Tensor, inputs: Tensor, cell: Tensor, recurrent: Tensor, across: Tensor, memory: Memory
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden state, cells, attentional state (each (B, D)) and attention (B, S) after one step, without gradients."""
    dim = cell.shape[1]
    gates = torch.addmm(gates, inputs, recurrent.t())
    cell, hidden = _cells(gates, cell)
    attention, mixed = _look(hidden, memory.both[..., :dim], memory.both[..., dim:], memory.offsets)
    return hidden, cell, mixed.addmm_(hidden, across.t()).tanh_(), attention


def attention_steps(
    gates: Tensor,
    recurrent: Tensor,
    across: Tensor,
    memory: Memory,
    hidden: Tensor,
    cell: Tensor,
    batch_sizes: Sequence[int],
) -> Tensor:
    """Attentional states h~ (N, D) of all steps; h~ before the first one is zero.

    Args:
        gates: (N, 4D) what the words bring to the gates input, forget, output and candidate, with the bias.
        recurrent: (4D, 2D) what [h~; h] of the step before brings to them.
        across: (D, D) what h brings to h~.
        memory: The source sentences.
        hidden: (B, D) h before the first step.
        cell: (B, D)
        batch_sizes: How many sentences have a word at each step, never rising.
    """
    found: Tensor = _Steps.apply(  # type: ignore[no-untyped-call]
        gates, recurrent, across, memory.both, memory.offsets, hidden, cell, tuple(batch_sizes)
    )
    return found


def _cells(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """New cells and hidden state; the gates are replaced by their activations."""
    dim = cell.shape[1]
    gates[:, : 3 * dim].sigmoid_()
    gates[:, 3 * dim :].tanh_()
    entry, forget, output, candidate = gates.split(dim, dim=1)
    cell = (forget * cell).addcmul_(entry, candidate)
    return cell, output * cell.tanh()


def _look(hidden: Tensor, keys: Tensor, values: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Attention (B, S), and the values it selects (B, D)."""
    scores = torch.bmm(keys, hidden.unsqueeze(2)).squeeze(2)
    attention = (scores + offsets).softmax(dim=1)
    return attention, torch.bmm(attention.to(values.dtype).unsqueeze(1), values).squeeze(1)


class _Steps(torch.autograd.Function):
    """See `attention_steps`. Products are computed in autocast's type, cells are kept in the type they come in."""

    @staticmethod
    def forward(
        ctx: Ctx,
        words: Tensor,
        recurrent: Tensor,
        across: Tensor,
        both: Tensor,
        offsets: Tensor,
        hidden: Tensor,
        cell: Tensor,
        sizes: tuple[int, ...],
    ) -> Tensor:
        kind = compute_type(words)
        with torch.autocast(words.device.type, enabled=False):
            dim = hidden.shape[1]
            cell = cell.to(offsets.dtype)
            recurrent, across, both = recurrent.to(kind), across.to(kind), both.to(kind)
            keys, values = both[..., :dim], both[..., dim:]
            gates = words.to(kind, copy=True)
            inputs = gates.new_zeros(len(gates), 2 * dim)  # [h~; h] of the step before
            inputs[: sizes[0], dim:] = hidden
            cells = cell.new_empty(len(gates), dim)
            states, found = torch.empty_like(gates[:, :dim]), torch.empty_like(gates[:, :dim])
            attention = offsets.new_empty(len(gates), offsets.shape[1])
            before, start = cell, 0
            for size, after in zip(sizes, (*sizes[1:], 0), strict=True):
                step, start = slice(start, start + size), start + size
                gates[step].addmm_(inputs[step], recurrent.t())
                cells[step], states[step] = _cells(gates[step], before[:size])
                before, state = cells[step], states[step]
                attention[step], mixed = _look(state, keys[:size], values[:size], offsets[:size])
                torch.tanh(mixed.addmm_(state, across.t()), out=found[step])
                inputs[start : start + after, :dim] = found[step][:after]
                inputs[start : start + after, dim:] = state[:after]
        ctx.save_for_backward(gates, inputs, cells, states, found, attention, recurrent, across, both, cell)
        ctx.sizes = sizes
        return found.to(offsets.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gates, inputs, cells, states, found, attention, recurrent, across, both, cell = ctx.saved_tensors
        back = _Backward(recurrent, across, both, len(cell), cells.dtype)
        gate_grad, mixed_grad, score_grad = (torch.empty_like(one) for one in (gates, found, attention))
        end = len(gates)
        for number in range(len(ctx.sizes) - 1, -1, -1):
            size = ctx.sizes[number]
            step = slice(end - size, end)
            end -= size
            before = cells[end - ctx.sizes[number - 1] :][:size] if number else cell[:size]
            mixed_grad[step], score_grad[step] = back.look(gradient[step], found[step], attention[step])
            gate_grad[step] = back.gates(gates[step], cells[step], before)
            back.recur(gate_grad[step])
        both_grad, offsets_grad = _memory_gradient(ctx.sizes, attention, score_grad, mixed_grad, states)
        exact = cells.dtype
        return (
            gate_grad.to(exact),
            (gate_grad.t() @ inputs).to(exact),
            (mixed_grad.t() @ states).to(exact),
            both_grad.to(exact),
            offsets_grad,
            back.hidden,
            back.cell,
            None,
        )


class _Backward:
    """Goes back through the steps; holds the gradients of what one step gives to the next."""

    def __init__(self, recurrent: Tensor, across: Tensor, both: Tensor, rows: int, exact: torch.dtype) -> None:
        self.recurrent, self.across = recurrent, across
        dim = len(across)
        self.keys, self.values = both[..., :dim], both[..., dim:]
        self.found, self.hidden, self.cell = (across.new_zeros(rows, dim, dtype=exact) for _ in range(3))

    def look(self, gradient: Tensor, found: Tensor, attention: Tensor) -> tuple[Tensor, Tensor]:
        """Through h~ and the attention: gradients of what tanh is applied to (b, D) and of the scores (b, S)."""
        size = len(found)
        mixed = ((gradient + self.found[:size]) * (1 - found * found)).to(found.dtype)
        weights = torch.bmm(self.values[:size], mixed.unsqueeze(2)).squeeze(2)
        chosen = attention * weights
        scores = chosen.sub_(attention * chosen.sum(dim=1, keepdim=True))
        self.hidden[:size] += mixed @ self.across
        self.hidden[:size] += torch.bmm(scores.to(found.dtype).unsqueeze(1), self.keys[:size]).squeeze(1)
        return mixed, scores

    def gates(self, gates: Tensor, cells: Tensor, before: Tensor) -> Tensor:
        """Through the cells: gradients (b, 4D) of what goes into the gates."""
        size, dim = len(gates), cells.shape[1]
        entry, forget, output, candidate = gates.split(dim, dim=1)
        squashed, hidden = cells.tanh(), self.hidden[:size]
        cell = (hidden * output).mul_(1 - squashed * squashed).add_(self.cell[:size])
        result = torch.cat([cell * candidate, cell * before, hidden * squashed, cell * entry], dim=1)
        self.cell[:size] = cell * forget
        three = gates[:, : 3 * dim]
        result[:, : 3 * dim] *= three * (1 - three)
        result[:, 3 * dim :] *= 1 - candidate * candidate
        return result

    def recur(self, gates: Tensor) -> None:
        """To h~ and h of the step before."""
        self.found[: len(gates)], self.hidden[: len(gates)] = (gates @ self.recurrent).chunk(2, dim=1)


def _memory_gradient(
    sizes: Sequence[int], attention: Tensor, scores: Tensor, mixed: Tensor, states: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of keys and values (B, S, 2D) and of the offsets (B, S): sums over the steps of outer products."""
    rows = sizes[0]
    places = torch.cat([torch.arange(size, device=states.device) + number * rows for number, size in enumerate(sizes)])

    def by_sentence(packed: Tensor) -> Tensor:
        """(N, X) to (B, T, X), zero where a sentence has ended."""
        padded = packed.new_zeros(len(sizes) * rows, packed.shape[1])
        padded[places] = packed
        return padded.view(len(sizes), rows, -1).transpose(0, 1)

    pairs = ((scores, states), (attention, mixed))
    keys, values = (torch.bmm(by_sentence(one.to(two.dtype)).mT, by_sentence(two)) for one, two in pairs)
    return torch.cat([keys, values], dim=2), by_sentence(scores).sum(dim=1)

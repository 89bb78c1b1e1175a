"""A stack of highway LSTMs that read in turn forwards and backwards (He et al. 2017, section 2.1).

Shapes: N tokens in packed order (see `polyseme.nn.packing`), B sequences, I inputs, H cells. Each layer computes

    [c~; i; f; o; r] = W x_t + U h_(t-1) + b        tanh for c~, sigmoid for the gates
    c_t = i * c~ + f * c_(t-1)
    h_t = z * (r * o * tanh(c_t) + (1 - r) * V x_t)

where V x_t is the highway around the cell and z the dropout mask, the same for all steps of a sequence.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.nn.backend import autocast_precision, backend_for
from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.recurrent import Lane, recurrent_layer
from polyseme.nn.packing import Packing

GATES = 5
"""Candidate, input, forget, output and highway, in the order of the rows of the weights."""


class AlternatingLstm(nn.Module):
    """Highway LSTMs, each over the outputs of the one below it and in the opposite direction.

    Args:
        input_dim: Width I of what the first layer reads.
        hidden_dim: Cells H of each layer.
        layers: How many; the first reads forwards.
        dropout: The share of a layer's outputs that is dropped while training: one mask for each sequence.

    Example:
        >>> lstm = AlternatingLstm(input_dim=3, hidden_dim=4, layers=2)
        >>> lstm(torch.ones(5, 3), Packing.of([2, 3])).shape
        torch.Size([5, 4])
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        if min(input_dim, hidden_dim, layers) < 1:
            raise ValueError(
                f"input_dim {input_dim}, hidden_dim {hidden_dim} and layers {layers} must all be at least 1"
            )
        widths = [input_dim] + [hidden_dim] * (layers - 1)
        self.layers = nn.ModuleList(HighwayLstm(input_dim=width, hidden_dim=hidden_dim) for width in widths)
        self.dim = hidden_dim
        self.dropout = dropout

    def forward(self, packed: Tensor, packing: Packing) -> Tensor:
        """Packed inputs (N, I) to the outputs of the top layer (N, H)."""
        for number, layer in enumerate(self.layers):
            mask = self._mask(packed, len(packing.lengths))
            packed = layer(packed, packing.batch_sizes, mask, places=packing.reverse if number % 2 else None)
        return packed

    def _mask(self, like: Tensor, sequences: int) -> Tensor | None:
        """(B, H), 0 where a number is dropped; the others are raised so that the mean stays."""
        if not self.training or not self.dropout:
            return None
        keep = 1 - self.dropout
        return torch.empty(sequences, self.dim, device=like.device).bernoulli_(keep).div_(keep)


class HighwayLstm(nn.Module):
    """One layer, in the order of the packed rows.

    ``weight_ih`` (6H, I) holds W, then V; ``weight_hh`` (5H, H) is U; ``bias`` (5H).

    Args:
        input_dim: Width I of the input.
        hidden_dim: Cells H.
    """

    def __init__(self, *, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.weight_ih = nn.Parameter(torch.empty((GATES + 1) * hidden_dim, input_dim))
        self.weight_hh = nn.Parameter(torch.empty(GATES * hidden_dim, hidden_dim))
        self.bias = nn.Parameter(torch.zeros(GATES * hidden_dim))
        for weight in (self.weight_ih, self.weight_hh):
            for block in weight.detach().split(hidden_dim):
                nn.init.orthogonal_(block)
        nn.init.ones_(self.bias.detach()[2 * hidden_dim : 3 * hidden_dim])  # remember at first

    def forward(
        self,
        inputs: Tensor,
        batch_sizes: Sequence[int],
        mask: Tensor | None = None,
        *,
        places: Tensor | None = None,
    ) -> Tensor:
        """Packed inputs to outputs: (N, I) to (N, H).

        Args:
            inputs: (N, I)
            batch_sizes: The rows of each step.
            mask: (B, H) in packed rank; what outputs are multiplied by.
            places: (N,) the row that is read at each packed place, for the other direction; its own inverse.
        """
        precision = autocast_precision(inputs.device.type)
        weights = (self.weight_ih, self.weight_hh, self.bias)
        if inputs.device.type == "cpu" and backend_for(weights, precision, gradients=True) == "kernels":
            return recurrent_layer(inputs, [Lane(*weights, places, mask)], batch_sizes, precision)[0]
        if places is not None:
            return self(inputs[places], batch_sizes, mask)[places]  # type: ignore[no-any-return]
        with torch.autocast(inputs.device.type, enabled=False):
            products = inputs.to(self.weight_ih.dtype) @ self.weight_ih.t()  # (N, 6H), for all steps at once
            gates, carried = products.split([GATES * self.hidden_dim, self.hidden_dim], dim=1)
            output: Tensor = _Recurrence.apply(  # type: ignore[no-untyped-call]
                gates + self.bias, carried, self.weight_hh, mask, batch_sizes
            )
        return output


class _Recurrence(torch.autograd.Function):
    """The steps of a layer, with a backward pass that multiplies once for the gradient of U."""

    @staticmethod
    def forward(
        ctx: Ctx, inputs: Tensor, carried: Tensor, weight: Tensor, mask: Tensor | None, batch_sizes: Sequence[int]
    ) -> Tensor:
        width = weight.shape[1]
        gates, cells, outputs = torch.empty_like(inputs), torch.empty_like(carried), torch.empty_like(carried)
        hidden = cell = inputs.new_zeros(batch_sizes[0], width)
        recurrent = weight.t()
        first = 0
        for size in batch_sizes:
            rows = slice(first, first + size)
            now = torch.addmm(inputs[rows], hidden[:size], recurrent, out=gates[rows])  # (size, 5H)
            candidate = now[:, :width].tanh_()
            admit, keep, emit, through = now[:, width:].sigmoid_().chunk(4, dim=1)
            cell = torch.addcmul(admit * candidate, keep, cell[:size], out=cells[rows])
            hidden = torch.lerp(carried[rows], cell.tanh().mul_(emit), through, out=outputs[rows])
            if mask is not None:
                hidden *= mask[:size]
            first += size
        ctx.save_for_backward(gates, carried, cells, outputs, weight, mask)
        ctx.batch_sizes = batch_sizes
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gates, carried, cells, outputs, weight, mask = ctx.saved_tensors
        sizes: Sequence[int] = ctx.batch_sizes
        before, width = _row_before(sizes, gates.device), weight.shape[1]
        keep, through = gates[:, 2 * width : 3 * width], gates[:, 4 * width :]
        of_output, of_cell, of_hidden = _slopes(gates, cells, _at(cells, before), carried)
        sums = gates.new_empty(len(gates), GATES, width)
        states = gradients[0].clone()
        later_state = later_cell = gates.new_zeros(0, width)
        last = len(gates)
        for size in reversed(sizes):
            rows = slice(last - size, last)
            state = states[rows]
            state[: len(later_state)] += later_state
            if mask is not None:
                state *= mask[:size]
            cell = state * of_output[rows]
            cell[: len(later_cell)] += later_cell
            torch.mul(cell.unsqueeze(1), of_cell[rows], out=sums[rows, :3])
            torch.mul(state.unsqueeze(1), of_hidden[rows], out=sums[rows, 3:])
            later_state = sums[rows].flatten(1) @ weight
            later_cell = cell * keep[rows]
            last -= size
        flat = sums.flatten(1)  # (N, 5H)
        return flat, states * (1 - through), flat.t() @ _at(outputs, before), None, None


def _slopes(gates: Tensor, cells: Tensor, cells_before: Tensor, carried: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What a change of h changes in c (N, H); of c in the sums inside c~, i, f (N, 3, H); of h in o, r (N, 2, H)."""
    candidate, admit, keep, emit, through = gates.chunk(GATES, dim=1)
    squashed = cells.tanh()
    of_cell = [
        admit * (1 - candidate * candidate),
        candidate * admit * (1 - admit),
        cells_before * keep * (1 - keep),
    ]
    of_hidden = [through * squashed * emit * (1 - emit), (emit * squashed - carried) * through * (1 - through)]
    return through * emit * (1 - squashed * squashed), torch.stack(of_cell, dim=1), torch.stack(of_hidden, dim=1)


def _row_before(batch_sizes: Sequence[int], device: torch.device) -> Tensor:
    """(N,) the packed row of the step before each row's; -1 in the first step."""
    sizes = torch.tensor(batch_sizes, device=device)
    count = int(sizes.sum())
    behind = torch.repeat_interleave(sizes.roll(1), sizes)  # a step lies one block of rows behind
    rows = torch.arange(count, device=device) - behind
    rows[: batch_sizes[0]] = -1
    return rows


def _at(values: Tensor, rows: Tensor) -> Tensor:
    """The values of some rows, zero for the row -1."""
    return values[rows.clamp(min=0)] * (rows >= 0).unsqueeze(1)

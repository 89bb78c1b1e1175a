"""One LSTM layer of one direction, with a projected and clipped recurrent state."""

import itertools
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

LstmState = tuple[Tensor, Tensor]
"""Projected state h (B, P) and cells c (B, H)."""

CHUNK_NUMBERS = 1 << 24
"""Gate inputs are computed in chunks of about this many numbers (64 MiB), however long the sequences are."""


class ProjectedLstm(nn.Module):
    """LSTM with clipped cells whose output and recurrent state is a clipped projection (Sak et al. 2014).

    Gates are in the order input, forget, candidate, output: ``weight_ih`` (4H, I), ``weight_hh`` (4H, P), ``bias``
    (4H), ``weight_hr`` (P, H).

    Args:
        input_dim: Width I of the input.
        hidden_dim: Number H of cells.
        projection_dim: Width P of the output and of the recurrent state.
        cell_clip: Cells are clipped to this magnitude; None: not clipped.
        projection_clip: The output is clipped to this magnitude; None: not clipped.
        forget_bias: Added to the forget gate's bias at run time.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        hidden_dim: int,
        projection_dim: int,
        cell_clip: float | None,
        projection_clip: float | None,
        forget_bias: float,
    ) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_dim, input_dim))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_dim, projection_dim))
        self.weight_hr = nn.Parameter(torch.empty(projection_dim, hidden_dim))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_dim))
        self.hidden_dim = hidden_dim
        self.projection_dim = projection_dim
        self.cell_clip = math.inf if cell_clip is None else cell_clip
        self.projection_clip = math.inf if projection_clip is None else projection_clip
        self.forget_bias = forget_bias
        for weight in (self.weight_ih, self.weight_hh, self.weight_hr):
            nn.init.normal_(weight, std=1 / math.sqrt(weight.shape[1]))

    def forward(
        self, inputs: Tensor, batch_sizes: Sequence[int], state: LstmState | None = None
    ) -> tuple[Tensor, LstmState]:
        """Run over a packed batch.

        Args:
            inputs: (N, I) in packed order.
            batch_sizes: Number of rows of each step, never increasing.
            state: State before the first step, in packed rank order; zeros by default.

        Returns:
            Outputs (N, P) and each sequence's state after its last step.
        """
        rows = batch_sizes[0]
        hidden, cells = state or (inputs.new_zeros(rows, self.projection_dim), inputs.new_zeros(rows, self.hidden_dim))
        hidden, cells = hidden.to(inputs.dtype), cells.to(inputs.dtype)  # types differ if only one is under autocast
        outputs: list[Tensor] = []
        finished: list[LstmState] = []  # final states of sequences that have ended, shortest first
        recurrent, projection = self.weight_hh.t(), self.weight_hr.t()
        for size, gate_inputs in self._gate_inputs(inputs, batch_sizes):
            if size < len(hidden):
                finished.append((hidden[size:], cells[size:]))
                hidden, cells = hidden[:size], cells[:size]
            gates = torch.addmm(gate_inputs, hidden, recurrent)  # (size, 4H)
            admit, keep, candidate, emit = gates.chunk(4, dim=1)
            cells = admit.sigmoid() * candidate.tanh() + keep.sigmoid() * cells
            cells = cells.clamp(-self.cell_clip, self.cell_clip)
            hidden = (emit.sigmoid() * cells.tanh()) @ projection  # (size, P)
            hidden = hidden.clamp(-self.projection_clip, self.projection_clip)
            outputs.append(hidden)
        finished.append((hidden, cells))
        finished.reverse()
        return torch.cat(outputs), (torch.cat([h for h, _ in finished]), torch.cat([c for _, c in finished]))

    def run_time_bias(self) -> Tensor:
        """The stored bias with the forget bias added: (4H,)."""
        offset = torch.zeros_like(self.bias)
        offset[self.hidden_dim : 2 * self.hidden_dim] = self.forget_bias
        return self.bias + offset

    def _gate_inputs(self, inputs: Tensor, batch_sizes: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """Yield the row count of each step and what its inputs add to the gates, computed for many steps at a time."""
        bias = self.run_time_bias()
        limit = max(1, CHUNK_NUMBERS // len(bias))
        start = step = 0
        while step < len(batch_sizes):
            sizes, rows = [batch_sizes[step]], batch_sizes[step]
            for size in itertools.islice(batch_sizes, step + 1, None):
                if rows + size > limit:
                    break
                sizes.append(size)
                rows += size
            chunk = nn.functional.linear(inputs[start : start + rows], self.weight_ih, bias)  # (rows, 4H)
            yield from zip(sizes, chunk.split(sizes), strict=True)
            step += len(sizes)
            start += rows

"""The projected LSTM in bfloat16 and int8 in plain torch: what the kernels compute, step by step.

It is used on machines without kernels, and the kernels are tested against it.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from polyseme.nn.blocks import in_blocks
from polyseme.nn.kernels.packed import Precision, quantise
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm

Product = Callable[[Tensor], Tensor]


def rounded_lstm(
    layer: ProjectedLstm,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    state: LstmState | None = None,
    *,
    precision: Precision,
) -> tuple[Tensor, LstmState]:
    """Do what `ProjectedLstm.forward` does with rounded weights and activations and float32 sums."""
    from_input, from_hidden, project = (
        _product(weight, precision) for weight in (layer.weight_ih, layer.weight_hh, layer.weight_hr)
    )
    rows = batch_sizes[0]
    hidden, cells = state or (inputs.new_zeros(rows, layer.projection_dim), inputs.new_zeros(rows, layer.hidden_dim))
    hidden, cells = hidden.clone(), cells.clone()
    bias = layer.run_time_bias()
    outputs = []
    for step in inputs.split(list(batch_sizes)):
        alive = len(step)
        gates = from_input(step) + from_hidden(hidden[:alive]) + bias
        admit, keep, candidate, emit = gates.chunk(4, dim=1)
        updated = admit.sigmoid() * candidate.tanh() + keep.sigmoid() * cells[:alive]
        cells[:alive] = updated.clamp(-layer.cell_clip, layer.cell_clip)
        projected = project(emit.sigmoid() * cells[:alive].tanh())
        hidden[:alive] = projected.clamp(-layer.projection_clip, layer.projection_clip)
        outputs.append(hidden[:alive].clone())
    return torch.cat(outputs), (hidden, cells)


def _product(weight: Tensor, precision: Precision) -> Product:
    """Multiply rows by a weight matrix (columns, K), both rounded."""
    if precision == "int8":
        scale, whole = quantise(weight)

        def multiply(rows: Tensor) -> Tensor:
            row_scale, whole_rows = quantise(rows)
            return (whole_rows @ whole.t()) * (row_scale * scale.t())

        return multiply
    if precision == "bfloat16":
        rounded = weight.bfloat16().float()
        # A number that is rounded to the other side in another batch would show: 0.01 in the vectors.
        return lambda rows: in_blocks(lambda block: block.bfloat16().float() @ rounded.t(), rows)
    return lambda rows: rows @ weight.t()

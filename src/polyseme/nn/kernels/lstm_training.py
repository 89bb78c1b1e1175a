"""The fused LSTM layer with gradients."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.lstm import (
    Gradients,
    PackedLayer,
    Pair,
    Saved,
    States,
    new_job,
    run,
    saved_pointers,
    starting_state,
)
from polyseme.nn.kernels.packed import Precision, column_order, lanes, pack_panels, pad, ready
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.rows import column_sums
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm
from polyseme.nn.weight_changes import weights_version

Layers = tuple[ProjectedLstm, ProjectedLstm]


def trained_layer(
    layers: Layers,
    inputs: Pair,
    batch_sizes: Sequence[int],
    states: States,
    precision: Precision,
) -> tuple[Pair, tuple[LstmState, LstmState]]:
    """Do what `PackedLayer.__call__` does, with gradients.

    Weights stay float32; with ``"bfloat16"`` the products are computed in bfloat16 and summed in float32.
    """
    given = [starting_state(layer, state, batch_sizes[0]) for layer, state in zip(layers, states, strict=True)]
    for number, state in enumerate(states):
        if state is not None and any(part.requires_grad for part in state):
            given[number] = state
    flat = [tensor for state in given for tensor in state]
    weights = [weight for layer in layers for weight in (layer.weight_ih, layer.weight_hh, layer.weight_hr, layer.bias)]
    results = _Layer.apply(  # type: ignore[no-untyped-call]
        layers, tuple(batch_sizes), precision, *(tensor.float() for tensor in inputs), *flat, *weights
    )
    ahead, back, h_ahead, c_ahead, h_back, c_back = results
    return (ahead, back), ((h_ahead, c_ahead), (h_back, c_back))


class _Layer(torch.autograd.Function):
    """Inputs: rows of both directions, then (h, c) of each, then (weight_ih, weight_hh, weight_hr, bias) of each."""

    @staticmethod
    def forward(
        ctx: Ctx, layers: Layers, batch_sizes: tuple[int, ...], precision: Precision, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        inputs, states = (tensors[0], tensors[1]), ((tensors[2], tensors[3]), (tensors[4], tensors[5]))
        rooms = zip(inputs, layers, strict=True)
        saved = tuple(Saved.room(len(rows), layer.hidden_dim, precision) for rows, layer in rooms)
        outputs, finals = PackedLayer(layers[0], layers[1], precision)(
            inputs, batch_sizes, states, (saved[0], saved[1])
        )
        ctx.layers, ctx.batch_sizes, ctx.precision, ctx.saved = layers, batch_sizes, precision, saved
        ctx.save_for_backward(*tensors[:6], *outputs)
        ctx.version = weights_version(*layers)
        return (*outputs, *finals[0], *finals[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *given, ahead, back = ctx.saved_tensors
        inputs, states, outputs = given[:2], (given[2:4], given[4:6]), (ahead, back)
        if ctx.version != weights_version(*ctx.layers):
            raise RuntimeError("the LSTM's weights were changed between its forward and its backward pass")
        job = new_job(ctx.layers[0], sizes := torch.tensor(ctx.batch_sizes, dtype=torch.int64))
        incoming = [ready(gradient) for gradient in gradients]
        work = [
            _Work(layer, saved, len(rows), ctx.precision, incoming[2 + 2 * number : 4 + 2 * number], state[1])
            for number, (layer, saved, rows, state) in enumerate(
                zip(ctx.layers, ctx.saved, inputs, states, strict=True)
            )
        ]
        for number, (slot, one) in enumerate(zip(job.directions, work, strict=True)):
            slot.outputs, slot.saved = outputs[number].data_ptr(), saved_pointers(ctx.saved[number])
            one.point(slot.gradients, incoming[number])
        run(f"polyseme_lstm_backward_{ctx.precision}", job)
        del sizes  # kept until here because the kernel reads it
        rows_gradients: list[Tensor | None] = []
        state_gradients: list[Tensor | None] = []
        weight_gradients: list[Tensor | None] = []
        for number, (layer, one) in enumerate(zip(ctx.layers, work, strict=True)):
            dgates = one.dgates[:, :, : layer.hidden_dim].flatten(1)  # (N, 4H)
            wanted = ctx.needs_input_grad[3 + number]
            rows_gradients.append(product(dgates, layer.weight_ih, ctx.precision) if wanted else None)
            state_gradients += [one.dhidden, one.dcells]  # autograd casts them to the state's own type
            if any(ctx.needs_input_grad[9 + 4 * number : 13 + 4 * number]):
                before = _states_before(states[number][0], outputs[number], ctx.batch_sizes)  # (N, P)
                emitted = ctx.saved[number].emitted[:, : layer.hidden_dim]
                weight_gradients += _weight_gradients(
                    dgates, inputs[number], before, one.projected, emitted, ctx.precision
                )
            else:
                weight_gradients += [None] * 4
        return None, None, None, *rows_gradients, *state_gradients, *weight_gradients


class _Work:
    """The tensors whose addresses the backward kernel gets for one direction."""

    def __init__(
        self,
        layer: ProjectedLstm,
        saved: Saved,
        rows: int,
        precision: Precision,
        final: Sequence[Tensor],
        first_cells: Tensor,
    ) -> None:
        recurrent = pad(layer.weight_hh.detach().unflatten(0, (4, -1)), 1, lanes()).flatten(0, 1)  # (4 units, P)
        self.projection = pack_panels(layer.weight_hr.t(), column_order(layer.hidden_dim), precision)  # P to units
        self.recurrent = pack_panels(recurrent.t(), column_order(layer.projection_dim), precision)  # gates to P
        self.dgates = torch.empty(rows, 4, saved.cells.shape[1], dtype=getattr(torch, precision))
        self.projected = torch.empty(rows, layer.projection_dim)
        self.dhidden, self.dcells = (part.clone() for part in final)
        self.first_cells = ready(first_cells)

    def point(self, slot: Gradients, incoming: Tensor) -> None:
        """Write the addresses of the tensors into the kernel's arguments."""
        slot.projection, slot.recurrent = self.projection.pointers(), self.recurrent.pointers()
        slot.outputs, slot.gates, slot.projected = (t.data_ptr() for t in (incoming, self.dgates, self.projected))
        slot.first_cells, slot.hidden, slot.cells = (
            t.data_ptr() for t in (self.first_cells, self.dhidden, self.dcells)
        )


def _weight_gradients(
    dgates: Tensor, inputs: Tensor, before: Tensor, projected: Tensor, emitted: Tensor, precision: Precision
) -> list[Tensor | None]:
    """The gradients of weight_ih, weight_hh, weight_hr and bias of one direction."""
    # One pass over the gates for both weights.
    both = product(dgates.t(), torch.cat([inputs, before], dim=1), precision)  # (4H, I + P)
    from_input, recurrent = both.split([inputs.shape[1], before.shape[1]], dim=1)
    projection = product(projected.t(), emitted, precision)
    return [from_input.contiguous(), recurrent.contiguous(), projection, column_sums(dgates)]


def _states_before(first: Tensor, outputs: Tensor, batch_sizes: Sequence[int]) -> Tensor:
    """The recurrent state before each packed row: the initial state, then the outputs one step earlier."""
    parts, start = [first[: batch_sizes[0]]], 0
    for size, following in pairwise(batch_sizes):
        parts.append(outputs[start : start + following])
        start += size
    return torch.cat(parts)

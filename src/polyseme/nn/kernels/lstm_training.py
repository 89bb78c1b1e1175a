"""The fused LSTM layer with gradients."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from polyseme.nn.first_derivative import once_differentiable
from polyseme.nn.kernels.lstm import (
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
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm
from polyseme.nn.weight_changes import weights_version


def trained_layer(
    layers: tuple[ProjectedLstm, ProjectedLstm],
    inputs: Pair,
    batch_sizes: Sequence[int],
    states: States,
    precision: Precision,
) -> tuple[Pair, tuple[LstmState, LstmState]]:
    """Run a layer of both directions so that gradients flow through it; as `PackedLayer.__call__`.

    Weights stay float32; with ``"bfloat16"`` the products are computed in it, their sums in float32.
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
    """Inputs: two directions' rows, then (h, c) of each, then (weight_ih, weight_hh, weight_hr, bias) of each."""

    @staticmethod
    def forward(ctx: Any, layers: Any, batch_sizes: Any, precision: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
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
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *given, ahead, back = ctx.saved_tensors
        inputs, states, outputs = given[:2], (given[2:4], given[4:6]), (ahead, back)
        layers, precision = ctx.layers, ctx.precision
        if ctx.version != weights_version(*layers):
            raise RuntimeError("the LSTM's weights were changed between its forward and its backward pass")
        job = new_job(layers[0], sizes := torch.tensor(ctx.batch_sizes, dtype=torch.int64))
        incoming = [ready(gradient) for gradient in gradients]
        work = []  # everything the kernel holds a pointer to
        for number, (place, layer) in enumerate(zip(job.directions, layers, strict=True)):
            units = ctx.saved[number].cells.shape[1]
            recurrent = pad(layer.weight_hh.detach().unflatten(0, (4, -1)), 1, lanes()).flatten(0, 1)  # (4 units, P)
            matrices = (
                pack_panels(layer.weight_hr.t(), column_order(layer.hidden_dim), precision),  # P to units
                pack_panels(recurrent.t(), column_order(layer.projection_dim), precision),  # gates to P
            )
            rows = len(inputs[number])
            dgates = torch.empty(rows, 4, units, dtype=getattr(torch, precision))
            projected = torch.empty(rows, layer.projection_dim)
            dhidden, dcells = (part.clone() for part in incoming[2 + 2 * number : 4 + 2 * number])
            first_cells = ready(states[number][1])
            place.outputs, place.saved = outputs[number].data_ptr(), saved_pointers(ctx.saved[number])
            slot = place.gradients
            slot.projection, slot.recurrent = (matrix.pointers() for matrix in matrices)
            slot.outputs, slot.gates, slot.projected = (t.data_ptr() for t in (incoming[number], dgates, projected))
            slot.first_cells, slot.hidden, slot.cells = (t.data_ptr() for t in (first_cells, dhidden, dcells))
            work.append((matrices, dgates, projected, dhidden, dcells, first_cells))
        run(f"polyseme_lstm_backward_{precision}", job)
        del sizes
        rows_gradients: list[Tensor | None] = []
        state_gradients: list[Tensor | None] = []
        weight_gradients: list[Tensor | None] = []
        for number, layer in enumerate(layers):
            _, dgates, projected, dhidden, dcells, _ = work[number]
            dgates = dgates[:, :, : layer.hidden_dim].flatten(1)  # (N, 4H)
            before = _states_before(states[number][0], outputs[number], ctx.batch_sizes)  # (N, P)
            emitted = ctx.saved[number].emitted[:, : layer.hidden_dim]
            rows_gradients.append(
                _product(dgates, layer.weight_ih.detach()) if ctx.needs_input_grad[3 + number] else None
            )
            state_gradients += [dhidden, dcells]  # autograd casts them to the state's own type
            if any(ctx.needs_input_grad[9 + 4 * number : 13 + 4 * number]):
                # One pass over the gates for both weights and the bias, whose input is always 1.
                joined = torch.cat([inputs[number], before, torch.ones(len(before), 1)], dim=1)
                widths = [inputs[number].shape[1], layer.projection_dim, 1]
                from_input, recurrent, bias = _product(dgates.t(), joined).split(widths, dim=1)
                projection = _product(projected.to(dgates.dtype).t(), emitted)
                weight_gradients += [from_input.contiguous(), recurrent.contiguous(), projection, bias.squeeze(1)]
            else:
                weight_gradients += [None] * 4
        return None, None, None, *rows_gradients, *state_gradients, *weight_gradients


def _states_before(first: Tensor, outputs: Tensor, batch_sizes: Sequence[int]) -> Tensor:
    """The recurrent state each packed row began with: the first state, then the outputs one step earlier."""
    parts, start = [first[: batch_sizes[0]]], 0
    for size, following in pairwise(batch_sizes):
        parts.append(outputs[start : start + following])
        start += size
    return torch.cat(parts)


def _product(one: Tensor, two: Tensor) -> Tensor:
    """In the number type of the first, given back as float32."""
    return (one @ two.to(one.dtype)).float()

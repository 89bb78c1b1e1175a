"""Layers of LSTMs without projection in the kernels, plain or with a highway around the cell, with gradients.

Shapes: N tokens in packed order (see `polyseme.nn.packing`), B sequences, I inputs, H cells, G gates, R the rows of W:
4H, or 6H with a highway.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import (
    Matrix,
    Precision,
    column_order,
    lanes,
    pack_bias,
    pack_panels,
    padded_units,
    ready,
)
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.rows import column_sums
from polyseme.nn.kernels.threads import threads

_GATES, _HIGHWAY_GATES = (0, 1, 2, 3), (1, 2, 0, 3)
"""Where the gates input, forget, candidate and output are among the rows of the weights."""


@dataclass(frozen=True)
class Lane:
    """One direction of a layer.

    Attributes:
        weight_ih: (4H, I), or (6H, I) with a highway: its last two blocks are the gate of the highway and V.
        weight_hh: (4H, H), or (5H, H)
        bias: As many as weight_hh has rows.
        places: (N,) the row of inputs and outputs that is read at each packed place; None for their own order.
        mask: (B, H) what outputs are multiplied by, in packed rank.
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias: Tensor
    places: Tensor | None = None
    mask: Tensor | None = None


class _Lane(ctypes.Structure):
    _fields_ = (
        ("input", Matrix),
        ("recurrent", Matrix),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("bias", "places", "mask", "outputs", "sums", "cells"),
                *("given", "given_cells", "gradients"),
            )
        ),
    )


class _Job(ctypes.Structure):
    _fields_ = (
        ("lanes", _Lane * 2),
        *((name, ctypes.c_void_p) for name in ("inputs", "batch_sizes")),
        *((name, ctypes.c_int64) for name in ("lane_count", "steps", "input_dim", "hidden_dim", "stride", "threads")),
    )


def recurrent_layer(
    inputs: Tensor, some: Sequence[Lane], batch_sizes: Sequence[int], precision: Precision
) -> tuple[Tensor, Tensor]:
    """Run one direction or two over the same inputs.

    Args:
        inputs: (N, I)
        some: One lane or two, of the same sizes.
        batch_sizes: The rows of each step.
        precision: The number type of the products: "float32" or "bfloat16".

    Returns:
        The outputs of the lanes side by side, (N, lanes * H), and their cells at the last token of each sequence,
        (lanes, B, H) in packed rank.
    """
    if len(inputs) != sum(batch_sizes) or inputs.shape[1] != some[0].weight_ih.shape[1]:
        expected = (sum(batch_sizes), some[0].weight_ih.shape[1])
        raise ValueError(f"got packed rows {tuple(inputs.shape)}, expected {expected}")
    tensors = [tensor for lane in some for tensor in (lane.weight_ih, lane.weight_hh, lane.bias, lane.mask)]
    places = tuple(lane.places for lane in some)
    outputs, cells = _Recurrent.apply(  # type: ignore[no-untyped-call]
        tuple(batch_sizes), places, precision, inputs.float(), *tensors
    )
    return outputs, cells


class _Recurrent(torch.autograd.Function):
    """Inputs: the rows, then (weight_ih, weight_hh, bias, mask) of each lane."""

    @staticmethod
    def forward(
        ctx: Ctx,
        batch_sizes: tuple[int, ...],
        places: tuple[Tensor | None, ...],
        precision: Precision,
        inputs: Tensor,
        *tensors: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        call = _Call(ready(inputs), _lanes_of(tensors, places), batch_sizes, precision)
        outputs = call.forward()
        last = _last_places(batch_sizes)
        ctx.call = call
        ctx.save_for_backward(outputs, *tensors)  # the weights too: torch refuses those that have changed since
        return outputs, torch.stack([cells[last, : call.hidden_dim] for cells in call.cells])

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        call: _Call = ctx.call
        outputs, *_ = ctx.saved_tensors
        given = call.backward(ready(gradients[0]), ready(gradients[1]))
        found: list[Tensor | None] = []
        inputs_gradient: Tensor | None = None
        for number, (lane, rows) in enumerate(zip(call.lanes, given, strict=True)):
            if ctx.needs_input_grad[3]:
                inputs_gradient = product(rows, lane.weight_ih, call.precision, into=inputs_gradient, add=True)
            if any(ctx.needs_input_grad[4 + 4 * number : 7 + 4 * number]):
                found += [*_weight_gradients(call, lane, rows, outputs.tensor_split(len(given), dim=1)[number]), None]
            else:
                found += [None] * 4
        return None, None, None, inputs_gradient, *found


class _Call:
    """A layer in memory: what the forward pass makes and the backward pass reads."""

    def __init__(self, inputs: Tensor, some: Sequence[Lane], batch_sizes: Sequence[int], precision: Precision) -> None:
        self.inputs, self.lanes, self.precision = inputs, some, precision
        self.batch_sizes = torch.tensor(batch_sizes, dtype=torch.int64)
        self.hidden_dim = some[0].weight_hh.shape[1]
        self.highway = len(some[0].weight_ih) > len(some[0].weight_hh)
        panels, rows = len(self._order()), len(inputs)
        self.sums = [torch.empty(rows, panels) for _ in some]
        self.cells = [torch.empty(rows, padded_units(self.hidden_dim)) for _ in some]

    def forward(self) -> Tensor:
        """Fill the gates and the cells, and give the outputs: (N, lanes * H)."""
        outputs = torch.empty(len(self.inputs), len(self.lanes) * self.hidden_dim)
        order, kept = self._order(), []
        recurrent = order if not self.highway else order[: len(order) - len(column_order(self.hidden_dim))]
        job = self._job()
        for number, (slot, lane) in enumerate(zip(job.lanes, self.lanes, strict=False)):
            slot.outputs = outputs.data_ptr() + number * self.hidden_dim * outputs.element_size()
            bias = lane.bias
            if self.highway:
                bias = torch.cat([bias, bias.new_zeros(self.hidden_dim)])
            packed = [pack_panels(lane.weight_ih, order, self.precision)]
            packed += [pack_panels(lane.weight_hh, recurrent, self.precision)]
            kept += [packed, put := pack_bias(bias, order)]
            slot.input, slot.recurrent = (one.pointers() for one in packed)
            slot.bias = put.data_ptr()
        self._run("", job)
        del kept  # until here, because the kernel reads them
        return outputs

    def backward(self, outputs: Tensor, cells: Tensor) -> list[Tensor]:
        """From the gradients of outputs and final cells to those of the products with the inputs: (N, R) each."""
        job, kept = self._job(), []
        rows = len(self.lanes[0].weight_ih)
        found = [torch.empty(len(self.inputs), rows, dtype=getattr(torch, self.precision)) for _ in self.lanes]
        for number, (slot, lane) in enumerate(zip(job.lanes, self.lanes, strict=False)):
            packed = pack_panels(lane.weight_hh.t(), column_order(self.hidden_dim), self.precision)
            kept.append(packed)
            slot.recurrent = packed.pointers()
            slot.given = outputs.data_ptr() + number * self.hidden_dim * outputs.element_size()
            slot.given_cells, slot.gradients = cells[number].data_ptr(), found[number].data_ptr()
        self._run("_backward", job)
        del kept
        return found

    def _order(self) -> Tensor:
        """The row of W of each packed column; see `Layout` in recurrent.h."""
        width = self.hidden_dim
        if not self.highway:
            return _gate_order(width, _GATES)
        apart = column_order(width)
        return torch.cat(
            [
                _gate_order(width, _HIGHWAY_GATES),
                *(torch.where(apart < 0, -1, apart + block * width) for block in (4, 5)),
            ]
        )

    def _job(self) -> _Job:
        job = _Job(
            inputs=self.inputs.data_ptr(),
            batch_sizes=self.batch_sizes.data_ptr(),
            lane_count=len(self.lanes),
            steps=len(self.batch_sizes),
            input_dim=self.inputs.shape[1],
            hidden_dim=self.hidden_dim,
            stride=len(self.lanes) * self.hidden_dim,
            threads=threads(),
        )
        for number, (slot, lane) in enumerate(zip(job.lanes, self.lanes, strict=False)):
            slot.places = None if lane.places is None else lane.places.data_ptr()
            slot.mask = None if lane.mask is None else lane.mask.data_ptr()
            slot.sums, slot.cells = self.sums[number].data_ptr(), self.cells[number].data_ptr()
        return job

    def _run(self, direction: str, job: _Job) -> None:
        kind = "highway_recurrent" if self.highway else "recurrent"
        getattr(library(), f"polyseme_{kind}{direction}_{self.precision}")(ctypes.byref(job))


def _lanes_of(tensors: Sequence[Tensor | None], places: Sequence[Tensor | None]) -> list[Lane]:
    """The lanes with tensors that the kernel can read; the weights are packed by copies of their own."""
    found = []
    for number, place in enumerate(places):
        weight_ih, weight_hh, bias, mask = tensors[4 * number : 4 * number + 4]
        assert weight_ih is not None
        assert weight_hh is not None
        assert bias is not None
        found.append(
            Lane(
                weight_ih.detach(),
                weight_hh.detach(),
                bias.detach(),
                None if place is None else ready(place, torch.int64),
                None if mask is None else ready(mask),
            )
        )
    return found


def _gate_order(units: int, gates: Sequence[int]) -> Tensor:
    """As `gate_order`, with the gates of each panel at these places among the rows."""
    unit = torch.arange(padded_units(units)).unflatten(0, (-1, 1, lanes()))  # (panels, 1, lanes)
    row = torch.tensor(gates).unsqueeze(1) * units + unit  # (panels, 4, lanes)
    return torch.where(unit < units, row, -1).flatten()


def _weight_gradients(call: _Call, lane: Lane, rows: Tensor, outputs: Tensor) -> list[Tensor]:
    """The gradients of weight_ih, weight_hh and bias of one lane."""
    before = _states_before(outputs, lane.places, call.batch_sizes)  # (N, H)
    recurrent = len(lane.weight_hh)
    # One pass over the gates for both weights.
    both = product(rows.t(), torch.cat([call.inputs, before], dim=1), call.precision)  # (R, I + H)
    from_input, from_state = both.split([call.inputs.shape[1], call.hidden_dim], dim=1)
    return [from_input.contiguous(), from_state[:recurrent].contiguous(), column_sums(rows)[:recurrent]]


def _states_before(outputs: Tensor, places: Tensor | None, batch_sizes: Tensor) -> Tensor:
    """For each row of the inputs, the output one step earlier in its lane; zeros at the first step."""
    count, first = len(outputs), int(batch_sizes[0])
    at = torch.arange(count - first) + first
    behind = at - torch.repeat_interleave(batch_sizes[:-1], batch_sizes[1:])
    before = outputs.new_zeros(outputs.shape)
    if places is None:
        before[at] = outputs[behind]
    else:
        before[places[at]] = outputs[places[behind]]
    return before


def _last_places(batch_sizes: Sequence[int]) -> Tensor:
    """(B,) the packed place of the last token of each sequence."""
    sizes = torch.tensor(batch_sizes)
    starts = sizes.cumsum(0) - sizes
    lengths = (sizes.unsqueeze(0) > torch.arange(batch_sizes[0]).unsqueeze(1)).sum(dim=1)  # (B,)
    return starts[lengths - 1] + torch.arange(batch_sizes[0])

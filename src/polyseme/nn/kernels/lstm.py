"""The fused projected LSTM: weights packed once, then a whole layer of both directions in one call."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import (
    Matrix,
    Packed,
    Precision,
    column_order,
    gate_order,
    lanes,
    pack_bias,
    pack_panels,
    pad,
    padded_units,
    ready,
)
from polyseme.nn.kernels.threads import threads
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm

Pair = tuple[Tensor, Tensor]
"""One tensor for the forward and one for the backward direction."""
States = tuple[LstmState | None, LstmState | None]


class _Saved(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("gates", "cells", "emitted"))


class Gradients(ctypes.Structure):
    """The gradients that the backward kernel reads and writes for one direction; see lstm.h."""

    _fields_ = (
        ("projection", Matrix),
        ("recurrent", Matrix),
        *((name, ctypes.c_void_p) for name in ("outputs", "gates", "projected", "first_cells", "hidden", "cells")),
    )


class Direction(ctypes.Structure):
    """One direction of a layer; see lstm.h."""

    _fields_ = (
        ("input", Matrix),
        ("recurrent", Matrix),
        ("projection", Matrix),
        *((name, ctypes.c_void_p) for name in ("bias", "inputs", "outputs", "hidden", "cells")),
        ("saved", _Saved),
        ("gradients", Gradients),
    )


class Job(ctypes.Structure):
    """One layer; see lstm.h."""

    _fields_ = (
        ("directions", Direction * 2),
        ("batch_sizes", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("steps", "input_dim", "projection_dim", "hidden_dim", "threads")),
        ("cell_clip", ctypes.c_float),
        ("projection_clip", ctypes.c_float),
    )


@dataclass(frozen=True)
class Saved:
    """What a layer keeps of its forward pass for the backward pass, per packed row; units is H rounded up."""

    gates: Tensor  # (N, 4, units), in the number type of the products
    cells: Tensor  # (N, units)
    emitted: Tensor  # (N, units), in the number type of the products

    @classmethod
    def room(cls, rows: int, hidden_dim: int, precision: Precision) -> "Saved":
        """Allocate space for this many packed rows."""
        units, dtype = padded_units(hidden_dim), getattr(torch, precision)
        gates, emitted = torch.empty(rows, 4, units, dtype=dtype), torch.empty(rows, units, dtype=dtype)
        return cls(gates, torch.empty(rows, units), emitted)


@dataclass(frozen=True)
class _PackedDirection:
    input: Packed
    recurrent: Packed
    projection: Packed
    bias: Tensor


class PackedLayer:
    """One layer, both directions, ready for the kernel.

    Args:
        forward: The layer that runs from the first token.
        backward: The layer that runs from the last one.
        precision: The number type of the products; see `polyseme.nn.backend`.
    """

    def __init__(self, forward: ProjectedLstm, backward: ProjectedLstm, precision: Precision) -> None:
        self._layer = forward
        self._precision = precision
        self._directions = [_pack_direction(layer, precision) for layer in (forward, backward)]

    def __call__(
        self, inputs: Pair, batch_sizes: Sequence[int], states: States, saved: tuple[Saved, Saved] | None = None
    ) -> tuple[Pair, tuple[LstmState, LstmState]]:
        """Run both directions.

        Args:
            inputs: (N, I) packed rows of each direction.
            batch_sizes: Number of rows of each step.
            states: State before the first step.
            saved: Space for what the backward pass needs, if there will be one.

        Returns:
            Outputs (N, P) and final states of each direction, as `ProjectedLstm.forward` gives them.
        """
        layer = self._layer
        ahead, back = (ready(tensor) for tensor in inputs)
        for tensor in (ahead, back):
            if tensor.shape != (expected := (sum(batch_sizes), layer.weight_ih.shape[1])):
                raise ValueError(f"got packed rows {tuple(tensor.shape)}, expected {expected}")
        outputs = tuple(torch.empty(len(tensor), layer.projection_dim) for tensor in (ahead, back))
        finals = [starting_state(layer, state, batch_sizes[0]) for state in states]
        job = new_job(layer, sizes := torch.tensor(batch_sizes, dtype=torch.int64))
        for number, (direction, packed) in enumerate(zip(job.directions, self._directions, strict=True)):
            direction.input, direction.recurrent = packed.input.pointers(), packed.recurrent.pointers()
            direction.projection, direction.bias = packed.projection.pointers(), packed.bias.data_ptr()
            direction.inputs, direction.outputs = (ahead, back)[number].data_ptr(), outputs[number].data_ptr()
            direction.hidden, direction.cells = (part.data_ptr() for part in finals[number])
            if saved is not None:
                direction.saved = saved_pointers(saved[number])
        run(f"polyseme_lstm_{self._precision}", job)
        del sizes  # kept until here because the kernel reads it
        return (outputs[0], outputs[1]), (finals[0], finals[1])


def run(name: str, job: Job) -> None:
    """Call the kernel of this name."""
    getattr(library(), name)(ctypes.byref(job))


def new_job(layer: ProjectedLstm, batch_sizes: Tensor) -> Job:
    """A job for a layer of this shape; ``batch_sizes`` must stay in memory as long as the job."""
    return Job(
        batch_sizes=batch_sizes.data_ptr(),
        steps=len(batch_sizes),
        input_dim=layer.weight_ih.shape[1],
        projection_dim=layer.projection_dim,
        hidden_dim=layer.hidden_dim,
        threads=threads(),
        cell_clip=layer.cell_clip,
        projection_clip=layer.projection_clip,
    )


def starting_state(layer: ProjectedLstm, state: LstmState | None, rows: int) -> LstmState:
    """A copy of the state that the kernel may write to; zeros if there is none."""
    if state is None:
        return torch.zeros(rows, layer.projection_dim), torch.zeros(rows, layer.hidden_dim)
    widths = layer.projection_dim, layer.hidden_dim
    for part, width in zip(state, widths, strict=True):
        if part.shape != (rows, width):
            raise ValueError(f"got a state {tuple(part.shape)}, expected {(rows, width)}")
    hidden, cells = (ready(part).clone() for part in state)
    return hidden, cells


def saved_pointers(saved: Saved) -> _Saved:
    """The addresses of the saved tensors, as the kernel takes them."""
    return _Saved(saved.gates.data_ptr(), saved.cells.data_ptr(), saved.emitted.data_ptr())


def _pack_direction(layer: ProjectedLstm, precision: Precision) -> _PackedDirection:
    gates = gate_order(layer.hidden_dim)
    return _PackedDirection(
        input=pack_panels(layer.weight_ih, gates, precision),
        recurrent=pack_panels(layer.weight_hh, gates, precision),
        projection=pack_panels(pad(layer.weight_hr, 1, lanes()), column_order(layer.projection_dim), precision),
        bias=pack_bias(layer.run_time_bias(), gates),
    )

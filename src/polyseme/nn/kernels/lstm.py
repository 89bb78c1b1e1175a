"""The fused projected LSTM: weights packed once, then a whole layer of both directions in one call."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import Matrix, Packed, Precision, pack_panels, pad
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm


class _Direction(ctypes.Structure):
    _fields_ = (
        ("input", Matrix),
        ("recurrent", Matrix),
        ("projection", Matrix),
        *((name, ctypes.c_void_p) for name in ("bias", "inputs", "outputs", "hidden", "cells")),
    )


class _Job(ctypes.Structure):
    _fields_ = (
        ("directions", _Direction * 2),
        ("batch_sizes", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("steps", "input_dim", "projection_dim", "hidden_dim", "threads")),
        ("cell_clip", ctypes.c_float),
        ("projection_clip", ctypes.c_float),
    )


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
        precision: What to compute in; see `packed.available`.
    """

    def __init__(self, forward: ProjectedLstm, backward: ProjectedLstm, precision: Precision) -> None:
        built = library()
        assert built is not None
        self._run = getattr(built, f"polyseme_lstm_{precision}")
        self._layer = forward
        lanes = built.polyseme_lanes()
        self._directions = [_pack_direction(layer, precision, lanes) for layer in (forward, backward)]

    def __call__(
        self,
        inputs: tuple[Tensor, Tensor],
        batch_sizes: Sequence[int],
        states: tuple[LstmState | None, LstmState | None],
    ) -> tuple[tuple[Tensor, Tensor], tuple[LstmState, LstmState]]:
        """Run both directions over their packed inputs (N, I) each.

        Returns:
            Outputs (N, P) and final states of each direction, as `ProjectedLstm.forward` gives them.
        """
        layer, rows = self._layer, batch_sizes[0]
        sizes = torch.tensor(batch_sizes, dtype=torch.int64)
        inputs = tuple(tensor.contiguous() for tensor in inputs)  # type: ignore[assignment]
        outputs = tuple(torch.empty(len(tensor), layer.projection_dim) for tensor in inputs)
        finals: list[LstmState] = []
        job = _Job()
        for direction, packed, given, output, state in zip(
            job.directions, self._directions, inputs, outputs, states, strict=True
        ):
            if state is None:
                state = torch.zeros(rows, layer.projection_dim), torch.zeros(rows, layer.hidden_dim)
            final = (
                state[0].clone(memory_format=torch.contiguous_format),
                state[1].clone(memory_format=torch.contiguous_format),
            )
            finals.append(final)
            direction.input, direction.recurrent = packed.input.pointers(), packed.recurrent.pointers()
            direction.projection, direction.bias = packed.projection.pointers(), packed.bias.data_ptr()
            direction.inputs, direction.outputs = given.data_ptr(), output.data_ptr()
            direction.hidden, direction.cells = final[0].data_ptr(), final[1].data_ptr()
        job.batch_sizes, job.steps = sizes.data_ptr(), len(batch_sizes)
        job.input_dim, job.projection_dim = layer.weight_ih.shape[1], layer.projection_dim
        job.hidden_dim, job.threads = layer.hidden_dim, torch.get_num_threads()
        job.cell_clip, job.projection_clip = layer.cell_clip, layer.projection_clip
        self._run(ctypes.byref(job))
        return (outputs[0], outputs[1]), (finals[0], finals[1])


def _pack_direction(layer: ProjectedLstm, precision: Precision, lanes: int) -> _PackedDirection:
    def gates(weight: Tensor) -> Tensor:
        """(4H, ...) to (panels, 4, lanes, ...): the four gates of the same units side by side."""
        rows = weight.detach().unflatten(0, (4, layer.hidden_dim))
        padded = pad(rows, 1, lanes)
        result: Tensor = padded.unflatten(1, (-1, lanes)).transpose(0, 1)
        return result

    projection = pad(pad(layer.weight_hr.detach(), 1, lanes), 0, 4 * lanes)  # (columns, units)
    return _PackedDirection(
        input=pack_panels(gates(layer.weight_ih), precision),
        recurrent=pack_panels(gates(layer.weight_hh), precision),
        projection=pack_panels(projection.unflatten(0, (-1, 4, lanes)), precision),
        bias=gates(layer.run_time_bias()).contiguous(),
    )

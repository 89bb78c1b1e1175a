"""Linear and highway layers with packed weights, for inference."""

import ctypes

import torch
from torch import Tensor, nn

from polyseme.nn.highway import Highway
from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import Matrix, Precision, column_order, gate_order, pack_bias, pack_panels, ready
from polyseme.nn.kernels.threads import threads


class _DenseJob(ctypes.Structure):
    _fields_ = (
        ("weight", Matrix),
        *((name, ctypes.c_void_p) for name in ("bias", "inputs", "outputs")),
        *((name, ctypes.c_int64) for name in ("rows", "input_dim", "output_dim", "threads")),
    )


class PackedDense:
    """A linear or a highway layer with packed weights."""

    def __init__(self, layer: nn.Linear | Highway, precision: Precision) -> None:
        built = library()
        assert built is not None
        highway = isinstance(layer, Highway)
        self._run = getattr(built, f"polyseme_{'highway' if highway else 'linear'}_{precision}")
        self._inputs = layer.weight.shape[1]
        self._outputs = len(layer.weight) // (2 if highway else 1)
        order = gate_order(self._outputs, gates=2) if highway else column_order(self._outputs)
        self._weight = pack_panels(layer.weight, order, precision)
        self._bias = pack_bias(layer.bias, order)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Apply the layer to rows: (U, I) to (U, O)."""
        inputs = ready(inputs)
        if inputs.shape[1] != self._inputs:
            raise ValueError(f"got rows of {inputs.shape[1]} numbers, expected {self._inputs}")
        outputs = torch.empty(len(inputs), self._outputs)
        job = _DenseJob(
            weight=self._weight.pointers(),
            bias=self._bias.data_ptr(),
            inputs=inputs.data_ptr(),
            outputs=outputs.data_ptr(),
            rows=len(inputs),
            input_dim=inputs.shape[1],
            output_dim=self._outputs,
            threads=threads(),
        )
        self._run(ctypes.byref(job))
        return outputs

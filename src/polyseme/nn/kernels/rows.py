"""What training does to rows between its products: softmax and its gradient, the gate of a highway layer, sums."""

import ctypes

import torch
from torch import Tensor

from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import Precision, ready
from polyseme.nn.kernels.threads import threads


class _SoftmaxJob(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("logits", "own", "column", "gradients", "log_probability")),
        *((name, ctypes.c_int64) for name in ("rows", "columns", "threads")),
    )


class _HighwayJob(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("inputs", "products", "given", "outputs", "gradients")),
        *((name, ctypes.c_int64) for name in ("rows", "dim", "threads")),
    )


class _SumJob(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("source", "sums")),
        *((name, ctypes.c_int64) for name in ("rows", "columns", "stride", "threads")),
    )


def softmax_gradients(
    logits: Tensor, column: Tensor, gradients: Tensor, precision: Precision, *, own: Tensor | None = None
) -> Tensor:
    """The log-probability (N,) of each row's target, and the gradient of its negative for the logits.

    Args:
        logits: (N, C) float32, contiguous; is overwritten.
        column: (N,) the column of each target.
        gradients: (N, C) in the number type of ``precision``, contiguous; is filled.
        precision: The number type of the gradients.
        own: (N,) the logits of the targets, if they are none of the columns; ``column`` is then a column that is left
            out of the row's softmax, or -1.
    """
    rows, columns = logits.shape
    column, result = ready(column, torch.int64), torch.empty(rows)
    least = 0 if own is None else -1
    if rows and not least <= int(column.min()) <= int(column.max()) < columns:
        raise IndexError(f"targets must be within {least}..{columns - 1}")
    own = None if own is None else ready(own)
    job = _SoftmaxJob(
        logits=logits.data_ptr(),
        own=None if own is None else own.data_ptr(),
        column=column.data_ptr(),
        gradients=gradients.data_ptr(),
        log_probability=result.data_ptr(),
        rows=rows,
        columns=columns,
        threads=threads(),
    )
    getattr(library(), f"polyseme_softmax_{precision}")(ctypes.byref(job))
    return result


def highway_gate(inputs: Tensor, products: Tensor) -> Tensor:
    """The outputs (N, F) of a highway layer from its inputs (N, F) and its products (N, 2F), all contiguous float32."""
    outputs = torch.empty_like(inputs)
    _highway(inputs, products, outputs)
    return outputs


def highway_gradients(inputs: Tensor, products: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the inputs (N, F), without what goes through the products, and of the products (N, 2F)."""
    carried, gradients, given = torch.empty_like(inputs), torch.empty_like(products), ready(given)
    _highway(inputs, products, carried, given=given.data_ptr(), gradients=gradients.data_ptr())
    return carried, gradients


def _highway(inputs: Tensor, products: Tensor, outputs: Tensor, **pointers: int) -> None:
    job = _HighwayJob(
        inputs=inputs.data_ptr(),
        products=products.data_ptr(),
        outputs=outputs.data_ptr(),
        rows=len(inputs),
        dim=inputs.shape[1],
        threads=threads(),
        **pointers,
    )
    built = library()
    assert built is not None
    built.polyseme_highway_gate(ctypes.byref(job))


def column_sums(matrix: Tensor) -> Tensor:
    """The sum (N,) of each column of a matrix (M, N) in float32 or bfloat16 whose rows are contiguous."""
    precision = "bfloat16" if matrix.dtype == torch.bfloat16 else "float32"
    if matrix.stride(1) != 1:
        matrix = matrix.contiguous()
    sums = torch.empty(matrix.shape[1])
    job = _SumJob(
        source=matrix.data_ptr(),
        sums=sums.data_ptr(),
        rows=len(matrix),
        columns=matrix.shape[1],
        stride=matrix.stride(0),
        threads=threads(),
    )
    getattr(library(), f"polyseme_column_sums_{precision}")(ctypes.byref(job))
    return sums

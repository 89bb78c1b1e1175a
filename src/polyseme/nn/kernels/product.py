"""Matrix products whose bits do not depend on the number of threads."""

import ctypes

import torch
from torch import Tensor

from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import Precision, on_cpu, ready
from polyseme.nn.kernels.threads import threads


class _Operand(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("across", "along", "half")))


class _ProductJob(ctypes.Structure):
    _fields_ = (
        ("a", _Operand),
        ("b", _Operand),
        ("bias", ctypes.c_void_p),
        ("c", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("rows", "columns", "depth", "stride", "add", "threads")),
    )


def product(
    one: Tensor,
    two: Tensor,
    precision: Precision,
    *,
    bias: Tensor | None = None,
    into: Tensor | None = None,
    add: bool = False,
) -> Tensor:
    """The product of two matrices with float32 sums: (M, K) and (K, N) to (M, N) float32.

    Args:
        one: (M, K) float32 or bfloat16; a transposed view costs nothing.
        two: (K, N) likewise.
        precision: The number type that both are rounded to, "float32" or "bfloat16".
        bias: (N,), added to each row.
        into: (M, N) float32 with contiguous rows, to be filled; by default a new matrix.
        add: Add to what is in ``into``.
    """
    (rows, depth), columns = one.shape, two.shape[1]
    if len(two) != depth:
        raise ValueError(f"got matrices {tuple(one.shape)} and {tuple(two.shape)}, which cannot be multiplied")
    one, two, bias = _readable(one, precision), _readable(two, precision), None if bias is None else ready(bias)
    result = torch.empty(rows, columns) if into is None else into
    if result.shape != (rows, columns) or result.dtype != torch.float32 or (columns > 1 and result.stride(1) != 1):
        raise ValueError(
            f"got {result.dtype} {tuple(result.shape)} for a product of shape {(rows, columns)} in float32"
        )
    job = _ProductJob(
        a=_operand(one),
        b=_operand(two.t()),
        bias=None if bias is None else bias.data_ptr(),
        c=result.data_ptr(),
        rows=rows,
        columns=columns,
        depth=depth,
        stride=result.stride(0),
        add=add and into is not None,
        threads=threads(),
    )
    getattr(library(), f"polyseme_product_{precision}")(ctypes.byref(job))
    return result


def _operand(matrix: Tensor) -> _Operand:
    return _Operand(matrix.data_ptr(), matrix.stride(0), matrix.stride(1), matrix.dtype == torch.bfloat16)


def _readable(matrix: Tensor, precision: Precision) -> Tensor:
    """The matrix in a number type and with strides that the kernel reads."""
    if not (precision == "bfloat16" and matrix.dtype == torch.bfloat16):
        matrix = on_cpu(matrix)
    matrix = matrix.detach()
    return matrix if 1 in matrix.stride() and 0 not in matrix.stride() else matrix.contiguous()

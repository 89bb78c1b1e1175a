"""Weight matrices in the order the kernels read them, in any of their number types."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.choices import PRECISIONS as PRECISIONS
from polyseme.nn.choices import Precision as Precision
from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.threads import threads

_PACK = {"float32": 1, "bfloat16": 2, "int8": 4}
_LEVEL = 127.0
_keeper: Callable[[Tensor], Tensor] | None = None


def set_keeper(keeper: Callable[[Tensor], Tensor] | None) -> None:
    """Have packed matrices kept elsewhere, such as in memory that processes share; None for as they are.

    Args:
        keeper: Takes a packed matrix and returns one with the same numbers, which is used in its place.
    """
    global _keeper
    _keeper = keeper


class Matrix(ctypes.Structure):
    """Pointers to a packed matrix; see common.h."""

    _fields_ = (("panels", ctypes.c_void_p), ("scale", ctypes.c_void_p), ("shift", ctypes.c_void_p))


@dataclass(frozen=True)
class Packed:
    """A weight matrix in the order the kernel reads it; see common.h."""

    panels: Tensor
    scale: Tensor | None = None
    shift: Tensor | None = None

    def pointers(self) -> Matrix:
        """The addresses of the tensors, as a kernel takes them; valid while this object is in memory."""
        return Matrix(
            *(tensor if tensor is None else tensor.data_ptr() for tensor in (self.panels, self.scale, self.shift))
        )


class _PackJob(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("source", "order", "panels")),
        *((name, ctypes.c_int64) for name in ("row_stride", "k_stride", "depth", "columns", "threads")),
    )


def on_cpu(tensor: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor in the number type a kernel expects; a tensor on another device than the CPU is refused."""
    if tensor.device.type != "cpu":
        raise RuntimeError(f"got a tensor on {tensor.device}, but the kernels compute on the CPU; move it there first")
    return tensor.detach().to(dtype)


def ready(tensor: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor that a kernel can read from its address: `on_cpu`, and contiguous."""
    return on_cpu(tensor, dtype).contiguous()


def lanes() -> int:
    """How many numbers a vector register of this machine holds."""
    built = library()
    assert built is not None
    return int(built.polyseme_lanes())


def padded_units(units: int) -> int:
    """The number of units, rounded up to whole vectors."""
    return units + -units % lanes()


def gate_order(units: int, gates: int = 4) -> Tensor:
    """The row of each packed column for rows (gates * units): each panel has all gates of the same units."""
    group = 4 * lanes() // gates  # units per panel
    unit = torch.arange(units + -units % group).unflatten(0, (-1, 1, group))  # (panels, 1, group)
    row = torch.arange(gates).unsqueeze(1) * units + unit  # (panels, gates, group)
    return torch.where(unit < units, row, -1).flatten()


def column_order(columns: int) -> Tensor:
    """The row of each packed column for rows in their own order."""
    column = torch.arange(columns + -columns % (4 * lanes()))
    return torch.where(column < columns, column, -1)


def pack_panels(weight: Tensor, order: Tensor, precision: Precision) -> Packed:
    """Put a matrix (rows, K) into the kernels' order (panels, K / pack, 4, lanes, pack).

    Args:
        weight: With any strides and number type.
        order: The row of each packed column, -1 for a column of zeros.
        precision: The number type to store.
    """
    weight, pack = on_cpu(weight), _PACK[precision]
    if precision == "int8":
        rows = torch.cat([weight, weight.new_zeros(1, weight.shape[1])])[order]  # -1 is the row of zeros
        scale, whole = quantise(pad(rows, 1, pack))
        shift = (128 * whole.sum(dim=1)).to(torch.int32)
        panels = whole.to(torch.int8).unflatten(0, (-1, 4 * lanes())).unflatten(2, (-1, pack)).transpose(1, 2)
        return Packed(_kept(panels.contiguous()), scale.squeeze(1).contiguous(), shift)
    depth = weight.shape[1] + -weight.shape[1] % pack
    panels = torch.empty(len(order) * depth, dtype=getattr(torch, precision))
    job = _PackJob(
        source=weight.data_ptr(),
        order=order.data_ptr(),
        panels=panels.data_ptr(),
        row_stride=weight.stride(0),
        k_stride=weight.stride(1),
        depth=weight.shape[1],
        columns=len(order),
        threads=threads(),
    )
    getattr(library(), f"polyseme_pack_{precision}")(ctypes.byref(job))
    return Packed(_kept(panels))


def _kept(panels: Tensor) -> Tensor:
    return panels if _keeper is None else _keeper(panels)


def pack_bias(bias: Tensor, order: Tensor) -> Tensor:
    """Put a bias into the order of packed columns."""
    bias = ready(bias)
    return torch.cat([bias, bias.new_zeros(1)])[order]


def quantise(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scale (..., 1) and integers within +-127 (..., K), as floats."""
    largest = rows.abs().amax(dim=-1, keepdim=True)
    inverse = torch.where(largest > 0, _LEVEL / largest, 0.0)
    return largest / _LEVEL, (rows * inverse).round()


def pad(tensor: Tensor, dim: int, multiple: int) -> Tensor:
    """Fill a dimension with zeros up to a multiple of ``multiple``."""
    missing = -tensor.shape[dim] % multiple
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor, tensor.new_zeros(shape)], dim=dim)

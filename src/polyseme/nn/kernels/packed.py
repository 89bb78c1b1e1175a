"""Weight matrices in the order the kernels read them, in any of their number types."""

import ctypes
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from polyseme.nn.kernels.build import library

Precision = Literal["float32", "bfloat16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8")

_PACK = {"float32": 1, "bfloat16": 2, "int8": 4}
_LEVEL = 127.0


class Matrix(ctypes.Structure):
    """Pointers to a packed matrix; see common.h."""

    _fields_ = (("panels", ctypes.c_void_p), ("scale", ctypes.c_void_p), ("shift", ctypes.c_void_p))


def available(precision: Precision) -> bool:
    """Whether the kernels were built here and this processor has the instructions for it."""
    built = library()
    return built is not None and bool(built.polyseme_precisions() >> PRECISIONS.index(precision) & 1)


@dataclass(frozen=True)
class Packed:
    """A weight matrix in the order the kernel reads it; see common.h."""

    panels: Tensor
    scale: Tensor | None = None
    shift: Tensor | None = None

    def pointers(self) -> Matrix:
        """What the kernel is handed; valid while this object lives."""
        return Matrix(
            *(tensor if tensor is None else tensor.data_ptr() for tensor in (self.panels, self.scale, self.shift))
        )


def pack_panels(weight: Tensor, precision: Precision) -> Packed:
    """(panels, 4, lanes, K) to the kernel's order (panels, K / pack, 4, lanes, pack)."""
    pack = _PACK[precision]
    weight = pad(weight, 3, pack)
    scale = shift = None
    if precision == "int8":
        scale, weight = quantise(weight)  # (panels, 4, lanes, 1)
        shift = (128 * weight.sum(dim=3)).to(torch.int32).contiguous()
        weight, scale = weight.to(torch.int8), scale.contiguous()
    elif precision == "bfloat16":
        weight = weight.to(torch.bfloat16)
    panels = weight.unflatten(3, (-1, pack)).permute(0, 3, 1, 2, 4).contiguous()
    return Packed(panels, scale, shift)


def quantise(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Scale (..., 1) and whole numbers within +-127 (..., K), still as floats."""
    largest = rows.abs().amax(dim=-1, keepdim=True)
    inverse = torch.where(largest > 0, _LEVEL / largest, 0.0)
    return largest / _LEVEL, (rows * inverse).round()


def pad(tensor: Tensor, dim: int, multiple: int) -> Tensor:
    """Fill a dimension up with zeros."""
    missing = -tensor.shape[dim] % multiple
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor, tensor.new_zeros(shape)], dim=dim)

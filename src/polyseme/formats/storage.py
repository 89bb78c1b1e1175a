"""How weights are stored: as float32, as bfloat16 (half the size) or as 8-bit integers (a quarter of the size)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.formats.choices import Storage

SCALE = ".scale"
"""Suffix of the name of the scales (rows,) that belong to a tensor of 8-bit rows."""
_LEVEL = 127.0
_LARGE = 1 << 14
"""Tensors with fewer numbers (biases, scales, characters) are not worth rounding."""


def compact(tensors: Mapping[str, Tensor], storage: Storage) -> dict[str, Tensor]:
    """Round large tensors; every row of 8-bit integers gets its own scale."""
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if storage == "float32" or tensor.dim() < 2 or tensor.numel() < _LARGE:
            result[name] = tensor.float()
        elif storage == "bfloat16":
            result[name] = tensor.bfloat16()
        else:
            rows = tensor.float().flatten(1)
            scale = rows.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / _LEVEL  # (rows,)
            result[name] = (rows / scale.unsqueeze(1)).round().to(torch.int8).view(tensor.shape)
            result[name + SCALE] = scale
    return result


def expand(tensors: Mapping[str, Tensor], *, where: str) -> dict[str, Tensor]:
    """Convert the stored tensors to float32."""
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if name.endswith(SCALE) and tensors.get(name.removesuffix(SCALE), tensor).dtype == torch.int8:
            continue
        result[name] = tensor.float()
        if tensor.dtype == torch.int8:
            scale = tensors.get(name + SCALE)
            if scale is None or tensor.dim() < 2 or scale.shape != tensor.shape[:1]:
                raise FormatError(
                    f"{where}: {name} is stored as 8-bit rows but its {name}{SCALE} is not one number per row; "
                    "the file is damaged, fetch it again"
                )
            result[name] *= scale.float().view(-1, *[1] * (tensor.dim() - 1))
    return result

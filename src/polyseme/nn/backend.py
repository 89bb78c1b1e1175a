"""Chooses what computes a layer: the compiled kernels or torch.

Every layer that has a kernel asks here, and so does code that needs to know beforehand whether a precision is fast.
"""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import PRECISIONS, Precision

Backend = Literal["kernels", "torch"]


def available(precision: Precision) -> bool:
    """Whether the kernels are compiled and this processor has the instructions for this precision."""
    built = library()
    return built is not None and bool(built.polyseme_precisions() >> PRECISIONS.index(precision) & 1)


def choose_backend(
    precision: Precision,
    *,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    gradients: bool = False,
) -> Backend:
    """The backend for a computation.

    Args:
        precision: The number type of the matrix products.
        device: The device of the weights; the kernels run on the CPU only.
        dtype: The number type of the weights; the kernels read float32 only.
        gradients: Whether the result is differentiated; 8-bit integers have no backward kernel.
    """
    suitable = device.type == "cpu" and dtype == torch.float32 and not (gradients and precision == "int8")
    return "kernels" if suitable and available(precision) else "torch"


def backend_for(weights: Iterable[Tensor], precision: Precision, *, gradients: bool = False) -> Backend:
    """The backend for a computation with these weights: the kernels only if they can read every one of them."""
    kinds = {(weight.device, weight.dtype) for weight in weights}
    serve = all(
        choose_backend(precision, device=device, dtype=dtype, gradients=gradients) == "kernels"
        for device, dtype in kinds
    )
    return "kernels" if serve else "torch"


def autocast_precision(device_type: str) -> Precision:
    """The precision that torch's autocast asks for."""
    half = torch.is_autocast_enabled(device_type) and torch.get_autocast_dtype(device_type) == torch.bfloat16
    return "bfloat16" if half else "float32"

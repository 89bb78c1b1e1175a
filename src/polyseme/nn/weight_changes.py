"""Detects changed weights, so that what was computed from them is computed again."""

import torch
from torch import Tensor, nn

WeightsVersion = tuple[tuple[int, int, int], ...]

_SAMPLE = 1024


def weights_version(*modules: nn.Module) -> WeightsVersion:
    """A value that changes when a parameter is replaced or written to in place.

    Torch counts writes to a tensor, but not those of its fused optimisers, so a sample of the bits is compared as well.
    """
    return tuple(
        # Tensors created in inference mode have no write counter, and cannot be trained.
        (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version, _bits(parameter.detach()))
        for module in modules
        for parameter in module.parameters()
    )


def _bits(weights: Tensor) -> int:
    flat = weights.reshape(-1)
    sample = flat[:: max(1, len(flat) // _SAMPLE)].contiguous()
    return int(sample.view(torch.uint8).sum(dtype=torch.int64) if len(sample) else 0)

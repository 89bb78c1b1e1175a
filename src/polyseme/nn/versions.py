"""Noticing that weights have changed, for whatever was computed from them before."""

import torch
from torch import Tensor, nn

Version = tuple[tuple[int, int, int], ...]

_SAMPLE = 1024


def weights_version(*modules: nn.Module) -> Version:
    """Differs from before when a parameter was written to in place or replaced.

    Torch counts writes to a tensor, but its fused optimisers do not count theirs, so a sample of the bits is looked at.
    """
    return tuple(
        # Tensors made in inference mode carry no counter, and cannot be trained.
        (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version, _bits(parameter.detach()))
        for module in modules
        for parameter in module.parameters()
    )


def _bits(weights: Tensor) -> int:
    flat = weights.reshape(-1)
    sample = flat[:: max(1, len(flat) // _SAMPLE)].contiguous()
    return int(sample.view(torch.uint8).sum(dtype=torch.int64) if len(sample) else 0)

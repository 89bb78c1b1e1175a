"""Noticing that weights have changed, for whatever was computed from them before."""

from torch import nn

Version = tuple[tuple[int, int], ...]


def weights_version(*modules: nn.Module) -> Version:
    """Differs from before when a parameter was written to in place or replaced."""
    return tuple(
        # Tensors made in inference mode carry no counter, and cannot be trained.
        (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)
        for module in modules
        for parameter in module.parameters()
    )

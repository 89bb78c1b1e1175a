"""Builds a network from the tensors of a file."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from polyseme.errors import FormatError
from polyseme.formats.weights import shown_shape
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig


class _NoNumbers(TorchFunctionMode):
    """Skips random initialisation: for tensors without memory, torch would load its compiler to do it."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__ and func.__name__.endswith("_"):
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


def assemble(config: BiLMConfig, tensors: Mapping[str, Tensor], *, where: str) -> BiLM:
    """Build the network of ``config`` from ``tensors``, which must be exactly its parameters."""
    with torch.device("meta"), _NoNumbers():
        bilm = BiLM.from_config(config)
    expected = {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items()}
    for name, shape in expected.items():
        if name not in tensors:
            raise FormatError(
                f"{where}: no tensor {name}; its configuration asks for one of shape {shown_shape(shape)}"
            )
        if (given := tuple(tensors[name].shape)) != shape:
            raise FormatError(
                f"{where}: {name} is {shown_shape(given)}, its configuration asks for {shown_shape(shape)}"
            )
    unknown = [name for name in tensors if name not in expected]
    if unknown:
        raise FormatError(
            f"{where}: {unknown[0]} is not a tensor of this configuration; expected {', '.join(expected)}"
        )
    bilm.load_state_dict(dict(tensors), assign=True)
    for name, parameter in bilm.named_parameters():
        if not torch.isfinite(parameter).all():
            raise FormatError(
                f"{where}: {name} holds NaN or infinity; the weights are damaged or their training diverged"
            )
    return bilm.eval().requires_grad_(False)

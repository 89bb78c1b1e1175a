"""Builds a network from the tensors of a file."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from polyseme.errors import FormatError
from polyseme.formats.weights import shown_shape
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig

AnyModule = TypeVar("AnyModule", bound=nn.Module)


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


def without_numbers(build: Callable[[], AnyModule]) -> AnyModule:
    """Build a module whose parameters have shapes and no memory, for weights that are assigned afterwards."""
    with torch.device("meta"), _NoNumbers():
        return build()


def assemble(config: BiLMConfig, tensors: Mapping[str, Tensor], *, where: str) -> BiLM:
    """Build the biLM of ``config`` from ``tensors``, which must be exactly its parameters."""
    return assemble_network(lambda: BiLM.from_config(config), tensors, where=where)


def assemble_network(build: Callable[[], AnyModule], tensors: Mapping[str, Tensor], *, where: str) -> AnyModule:
    """Build any network from ``tensors``, which must be exactly its parameters."""
    network = without_numbers(build)
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
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
    network.load_state_dict(dict(tensors), assign=True)
    for name, parameter in network.named_parameters():
        if not torch.isfinite(parameter).all():
            raise FormatError(
                f"{where}: {name} holds NaN or infinity; the weights are damaged or their training diverged"
            )
    return network.eval().requires_grad_(False)

"""A model as read from files: the network and what turns words into its ids."""

import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from polyseme.errors import FormatError, InputError
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig
from polyseme.text.characters import ByteCharacters, Indexer
from polyseme.text.vocabulary import Vocabulary

ModelPath = str | Path | tuple[str | Path, str | Path]
"""A folder, a zip, a weights file, a checkpoint's prefix, or ``(options, weights)``."""

_CHARACTERS = "token_encoder.characters.embedding.weight"


@dataclass(frozen=True)
class Model:
    """A biLM with its indexer and, where it has a softmax, its vocabulary.

    Attributes:
        path: Where it was opened, as `open_model` takes it from any folder; None where it was made.
    """

    config: BiLMConfig
    bilm: BiLM
    indexer: Indexer
    vocabulary: Vocabulary | None = None
    path: ModelPath | None = None

    def to(self, device: str | torch.device) -> "Model":
        """Move the network; gives the same model."""
        try:
            if torch.device(device).type == "meta":
                raise RuntimeError("it holds no numbers")
            self.bilm.to(device)
        except (RuntimeError, AssertionError) as error:  # torch's words for a device it does not know or have
            raise InputError(
                f"device {str(device)!r} cannot be used ({str(error).splitlines()[0]}); try 'cpu'"
            ) from error
        return self

    def fingerprint(self) -> str:
        """A short name for this network: equal ones give equal vectors, whatever file they came from."""
        digest = hashlib.blake2b(digest_size=8)
        computed = self.config.model_dump_json(include={"projection_dim", "token_encoder", "encoder"})
        digest.update(computed.encode())  # clips and the like, which no tensor tells
        digest.update(self.indexer.tables().encode())
        for name, tensor in self.bilm.state_dict().items():
            if name.startswith("softmax."):
                continue
            if name == _CHARACTERS and isinstance(self.indexer, ByteCharacters):
                tensor = tensor[1:]  # no byte has id 0, and HDF5 files do not have its row
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()


class Weights(Mapping[str, Tensor]):
    """Named arrays of a foreign file, checked against the shape that is asked for before they are read.

    Subclasses say how to list, measure and read; ``path`` names the file in messages.
    """

    path: str

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, without reading it."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)  # a mapping's own way would read the array

    def take(self, name: str, *shape: int, asked_by: str) -> Tensor:
        """Read an array that must have this shape, as float32.

        Args:
            name: Its name in the file.
            shape: What its shape must be.
            asked_by: The file that asks for that shape.
        """
        if name not in self:
            raise FormatError(f"{self.path}: no {name}; {asked_by} asks for it with shape {_plain(shape)}")
        if self.shape(name) != shape:
            raise FormatError(
                f"{self.path}: {name} is {_plain(self.shape(name))} but {asked_by} asks for {_plain(shape)}; "
                "use the options that came with these weights"
            )
        return self[name].to(torch.float32)


class _NoNumbers(TorchFunctionMode):
    """Leaves first weights undrawn: where there is nothing to draw them in, torch loads its compiler to do so."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__ and func.__name__.endswith("_"):
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


def assemble(config: BiLMConfig, tensors: Mapping[str, Tensor], *, where: str) -> BiLM:
    """Build the network of ``config`` around ``tensors``, which must be all of its parameters and no others."""
    with torch.device("meta"), _NoNumbers():
        bilm = BiLM.from_config(config)
    expected = {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items()}
    for name, shape in expected.items():
        if name not in tensors:
            raise FormatError(f"{where}: no tensor {name}; its configuration asks for one of shape {_plain(shape)}")
        if tuple(tensors[name].shape) != shape:
            raise FormatError(
                f"{where}: {name} is {_plain(tuple(tensors[name].shape))}, its configuration asks for {_plain(shape)}"
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


def _plain(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"

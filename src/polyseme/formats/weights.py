"""Named arrays of a foreign file, checked before they are read."""

from abc import abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from polyseme.errors import FormatError


class Weights(Mapping[str, Tensor]):
    """Named arrays of a foreign file, whose shape is checked before they are read.

    Subclasses list the arrays, give their shapes and read them; ``path`` is the name of the file in messages.
    """

    path: str

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, without reading it."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)  # the default of a mapping would read the array

    def take(self, name: str, *shape: int, asked_by: str) -> Tensor:
        """Read an array that must have this shape, as float32.

        Args:
            name: Its name in the file.
            shape: The shape it must have.
            asked_by: The file that requires that shape.
        """
        if name not in self:
            raise FormatError(f"{self.path}: no {name}; {asked_by} asks for it with shape {shown_shape(shape)}")
        if self.shape(name) != shape:
            raise FormatError(
                f"{self.path}: {name} is {shown_shape(self.shape(name))} but {asked_by} asks for {shown_shape(shape)}; "
                "use the options that came with these weights"
            )
        return self[name].to(torch.float32)


def shown_shape(shape: tuple[int, ...]) -> str:
    """A shape as text for messages: (2, 3)."""
    return "(" + ", ".join(map(str, shape)) + ")"

"""What every task model offers: a loss to learn from, and answers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor, nn

from polyseme.tasks.examples import Example
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.words import Words

Ex = TypeVar("Ex", bound=Example)


@dataclass(frozen=True)
class Batch(Generic[Ex]):
    """Some examples, and the words of all their sentences.

    Attributes:
        examples: B of them.
        words: The sentences of the first example, then those of the second, and so on, as `Kind.sentences` gives them.
    """

    examples: Sequence[Ex]
    words: Words


class TaskModel(nn.Module, ABC, Generic[Ex]):
    """A network for one task, built from plain parameters.

    Attributes:
        inputs: Gives the vectors of words; every model reads them through this.
    """

    inputs: Inputs

    @abstractmethod
    def losses(self, batch: Batch[Ex]) -> Tensor:
        """The loss of each example, summed over its predictions: (B,). An answer that cannot be learnt counts 0."""

    @abstractmethod
    def decode(self, batch: Batch[Ex]) -> list[Ex]:
        """Each example with the answer of the model in the place of its own."""

    def predictions(self, batch: Batch[Ex]) -> int:
        """How many predictions the losses of a batch are sums of; by default one for each example."""
        return len(batch.examples)

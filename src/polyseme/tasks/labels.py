"""Labels as numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from polyseme.errors import InputError
from polyseme.tasks.examples import Pair, Text

NOT_LEARNT = -100
"""The number of a label that the model does not have; torch's losses leave it out."""


class LabelTable:
    """Labels by number.

    Args:
        labels: Each once.

    Example:
        >>> LabelTable(["NOUN", "VERB"]).numbers(["VERB", "X"])
        tensor([   1, -100])
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def numbers(self, labels: Iterable[str]) -> Tensor:
        """The number of each label; `NOT_LEARNT` for an unknown one."""
        return torch.tensor([self._numbers.get(label, NOT_LEARNT) for label in labels], dtype=torch.long)


def by_count(labels: Iterable[str]) -> list[str]:
    """Distinct labels, most frequent first; equally frequent ones by name."""
    counts = Counter(labels)
    return sorted(counts, key=lambda label: (-counts[label], label))


def known_labels(examples: Sequence[Text | Pair], unit: str) -> list[str]:
    """The labels of examples that all have one.

    Args:
        examples: What has a label each.
        unit: What one of them is, for messages.

    Raises:
        InputError: One has none.
    """
    found = []
    for number, example in enumerate(examples, 1):
        if example.label is None:
            raise InputError(f"{unit} {number:,} has no label to learn or to compare with; give labelled {unit}s")
        found.append(example.label)
    return found

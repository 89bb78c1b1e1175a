"""What every measure returns: the score, its parts, and what each item added to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.files.whole import JSON

Sums = NDArray[np.float64]
"""Counts that can be added up: of one item, or of many."""


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How well one label was found, in percent.

    Attributes:
        precision: The share of the predictions of this label that are right.
        recall: The share of the items with this label that were found.
        f1: The harmonic mean of both.
        n: How often the label occurs in the data.
    """

    precision: float
    recall: float
    f1: float
    n: int

    @classmethod
    def of(cls, right: float, predicted: float, gold: float) -> "LabelScore":
        """From how many predictions are right, how many there are, and how many there should be."""
        found = precision_recall_f1(np.array([right, predicted, gold], np.float64))
        return cls(float(found[0]), float(found[1]), float(found[2]), int(gold))

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, "n": self.n}


@dataclass(frozen=True, slots=True)
class Score:
    """A score and what it is made of.

    Attributes:
        task: The task that was scored, such as ``ner``.
        metric: What ``score`` is, such as ``span F1``.
        score: From 0 to 100.
        n: How many things were to be found: texts, tokens, spans, questions or documents.
        labels: The figures of each label; empty where there are no labels.
        details: Other figures, by name.
        items: What each item (text, sentence, question, document) adds to the sums that the score is computed from;
            shape (items, sums). Resampled by `polyseme.tasks.metrics.bootstrap`.
        formula: From sums, shape (..., sums), to scores, shape (...).
    """

    task: str
    metric: str
    score: float
    n: int
    labels: Mapping[str, LabelScore]
    items: Sums = field(repr=False)
    formula: Callable[[Sums], Sums] = field(repr=False)
    details: Mapping[str, JSON] = field(default_factory=dict)

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        labels: dict[str, JSON] = {label: found.to_dict() for label, found in self.labels.items()}
        head: dict[str, JSON] = {"task": self.task, "metric": self.metric, "score": self.score, "n": self.n}
        return head | {"labels": labels} | dict(self.details)


def share(part: Sums, whole: Sums) -> Sums:
    """A share in percent; 0 of nothing is 0."""
    return 100 * np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole != 0)


def harmonic_mean(precision: Sums, recall: Sums) -> Sums:
    """F1 of precision and recall; 0 if both are 0."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)


def precision_recall_f1(sums: Sums) -> Sums:
    """Precision, recall and F1 in percent, shape (3, ...), of (right, predicted, gold), shape (..., 3)."""
    right, predicted, gold = sums[..., 0], sums[..., 1], sums[..., 2]
    precision, recall = share(right, predicted), share(right, gold)
    return np.stack([precision, recall, harmonic_mean(precision, recall)])


def check_same_length(gold: Sequence[object], predicted: Sequence[object], what: str) -> None:
    """Refuse predictions that are not as many as the answers.

    Raises:
        InputError: With both numbers, or if there is nothing to score.
    """
    if len(gold) != len(predicted):
        raise InputError(f"{len(predicted):,} predictions for {len(gold):,} {what}; give one for each, in their order")
    if not gold:
        raise InputError(f"no {what} to score; give at least one")

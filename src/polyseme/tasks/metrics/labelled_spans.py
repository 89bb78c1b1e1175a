"""F1 of labelled spans, of one set of spans against another for each item: what entities and roles have in common."""

from collections import Counter
from collections.abc import Hashable, Sequence, Set

import numpy as np

from polyseme.tasks.metrics.score import LabelScore, Score, Sums, precision_recall_f1

Labelled = tuple[Hashable, str]
"""Where something is, and its label."""


def labelled_f1(gold: Sequence[Set[Labelled]], predicted: Sequence[Set[Labelled]], *, task: str, metric: str) -> Score:
    """Count a span as found if place and label are both right, over all items together.

    Args:
        gold: The spans of each item.
        predicted: The spans that were predicted for each item.
        task: The task, for the record.
        metric: The name of the measure, for the record.
    """
    right, made, wanted = Counter[str](), Counter[str](), Counter[str]()
    items = np.zeros((len(gold), 3))
    for item, (truth, found) in enumerate(zip(gold, predicted, strict=True)):
        both = truth & found
        items[item] = len(both), len(found), len(truth)
        right.update(label for _, label in both)
        made.update(label for _, label in found)
        wanted.update(label for _, label in truth)
    total = LabelScore.of(*items.sum(0))
    return Score(
        task=task,
        metric=metric,
        score=total.f1,
        n=total.n,
        labels={label: LabelScore.of(right[label], made[label], wanted[label]) for label in sorted(made | wanted)},
        items=items,
        formula=f1_of_sums,
        details={"precision": total.precision, "recall": total.recall},
    )


def f1_of_sums(sums: Sums) -> Sums:
    """F1 in percent from sums of (right, predicted, gold)."""
    found: Sums = precision_recall_f1(sums)[2]
    return found

"""Accuracy of labels, with the figures of each label and which label was taken for which."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.tasks.metrics.score import LabelScore, Score, Sums, check_same_length, share


def accuracy(gold: Sequence[str], predicted: Sequence[str], *, task: str = "classify") -> Score:
    """The share of texts or pairs with the right label.

    Example:
        >>> accuracy(["yes", "no", "no"], ["yes", "no", "yes"]).to_dict()["confusion"]
        {'no': {'no': 1, 'yes': 1}, 'yes': {'yes': 1}}
    """
    check_same_length(gold, predicted, "labels")
    return _score([[label] for label in gold], [[label] for label in predicted], task)


def tag_accuracy(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, task: str = "tag") -> Score:
    """The share of tokens with the right tag."""
    check_same_length(gold, predicted, "sentences")
    for number, (truth, found) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(truth) != len(found):
            raise InputError(f"sentence {number:,}: {len(found)} tags predicted for {len(truth)} tokens; give as many")
    return _score(gold, predicted, task)


def _score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], task: str) -> Score:
    confused = Counter[tuple[str, str]]()
    items = np.zeros((len(gold), 2))
    for item, (truth, found) in enumerate(zip(gold, predicted, strict=True)):
        confused.update(zip(truth, found, strict=True))
        items[item] = sum(one == other for one, other in zip(truth, found, strict=True)), len(truth)
    total = items.sum(0)
    return Score(
        task=task,
        metric="accuracy",
        score=float(accuracy_of_sums(total)),
        n=int(total[1]),
        labels=dict(_labels(confused)),
        items=items,
        formula=accuracy_of_sums,
        details={"confusion": _table(confused)},
    )


def _labels(confused: Counter[tuple[str, str]]) -> Iterable[tuple[str, LabelScore]]:
    wanted, made = Counter[str](), Counter[str]()
    for (truth, found), count in confused.items():
        wanted[truth] += count
        made[found] += count
    for label in sorted(wanted | made):
        yield label, LabelScore.of(confused[label, label], made[label], wanted[label])


def _table(confused: Counter[tuple[str, str]]) -> JSON:
    """How often each label (outside) was predicted as each other (inside), without zeros."""
    table: dict[str, dict[str, JSON]] = {}
    for (truth, found), count in sorted(confused.items()):
        table.setdefault(truth, {})[found] = count
    return {truth: row for truth, row in table.items()}  # noqa: C416 - a dict of JSON values


def accuracy_of_sums(sums: Sums) -> Sums:
    """The share in percent, from sums of (right, all)."""
    return share(sums[..., 0], sums[..., 1])

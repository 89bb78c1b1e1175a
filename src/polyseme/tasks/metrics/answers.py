"""Exact match and F1 of answers to questions, as the evaluation of SQuAD 1.1 computes them."""

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from polyseme.errors import InputError
from polyseme.tasks.metrics.score import Score, Sums, check_same_length, share

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_f1(gold: Sequence[Sequence[str]], predicted: Sequence[str], *, task: str = "answer") -> Score:
    """The mean F1 of predicted answers; the exact matches are among the details as ``exact_match``.

    Args:
        gold: All right answers to each question.
        predicted: The predicted answer to each question.
        task: The task, for the record.

    Raises:
        InputError: The two differ in length, or a question has no right answer.

    Example:
        >>> answer_f1([["the Denver Broncos", "Denver"]], ["Denver Broncos won"]).details["exact_match"]
        0.0
    """
    check_same_length(gold, predicted, "questions")
    items = np.ones((len(gold), 3))
    for item, (references, prediction) in enumerate(zip(gold, predicted, strict=True)):
        if not references:
            raise InputError(f"question {item + 1:,}: no right answer to compare with; give at least one")
        items[item, 0] = max(overlap(prediction, reference) for reference in references)
        items[item, 1] = max(normalised(prediction) == normalised(reference) for reference in references)
    total = items.sum(0)
    return Score(
        task=task,
        metric="F1",
        score=float(mean_of_sums(total)),
        n=len(gold),
        labels={},
        items=items,
        formula=mean_of_sums,
        details={"exact_match": float(share(total[1], total[2]))},
    )


def normalised(text: str) -> str:
    """An answer as it is compared: lower case, without punctuation and articles, single spaces.

    Example:
        >>> normalised("The  U.S. Army, an army")
        'us army army'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def overlap(prediction: str, reference: str) -> float:
    """F1 of the words of two answers, from 0 to 1; 0 if no word is in both, also if both are empty."""
    found, truth = normalised(prediction).split(), normalised(reference).split()
    both = (Counter(found) & Counter(truth)).total()
    if not both:
        return 0.0
    precision, recall = both / len(found), both / len(truth)
    return 2 * precision * recall / (precision + recall)


def mean_of_sums(sums: Sums) -> Sums:
    """The mean F1 in percent, from sums of (F1, exact matches, questions)."""
    return share(sums[..., 0], sums[..., 2])

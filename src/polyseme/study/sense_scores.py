"""The result of telling senses apart: accuracies with confidence intervals, beside the most frequent sense."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from polyseme.files.whole import JSON
from polyseme.study.bootstrap import interval

Method: TypeAlias = Literal["centroid", "neighbours"]
METHODS: tuple[Method, ...] = get_args(Method)
MOST_FREQUENT, FIRST = "most frequent sense", "first sense"

Right: TypeAlias = NDArray[np.bool_]
"""(N, C) whether the answer of each column to each occurrence is right."""


class Column(NamedTuple):
    """What gives answers."""

    by: str
    method: Method | None = None
    whitened: bool = False


@dataclass(frozen=True, slots=True)
class SenseScore:
    """The share of the test occurrences that got a right sense; every one counts, so accuracy is F1.

    Intervals hold 95% of the figures that the same number of test occurrences gives when they are drawn again.
    """

    by: str
    """What the answer came from: a layer, several, or a baseline without vectors."""
    method: Method | None
    """None for a baseline."""
    whitened: bool
    accuracy: float
    low: float
    high: float
    difference: float
    """To the most frequent sense of the training text, on the same occurrences."""
    difference_low: float
    difference_high: float
    held_out: float | None = None
    """Accuracy on the part of the training text that was held out to choose a layer."""
    chosen: bool = False
    """Whether that is the best of this method, among the whitened ones or among the others."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        values: dict[str, JSON] = asdict(self)
        return values


@dataclass(frozen=True, slots=True)
class SenseAccuracy:
    """The scores of all layers and methods, and of the baselines after them."""

    scores: list[SenseScore]
    neighbours: int
    """How many of them vote."""
    instances: int
    """Test occurrences."""
    backed_off: float
    """The share of them whose lexeme is not in the training text; these get the first sense in all figures."""
    unanswered: float
    """The share without any answer, as no first sense is known either; these count as wrong."""
    left_out: int
    """Test occurrences that bear no sense at all; these do not count."""
    trained: int
    """Training occurrences of the lexemes that are tested."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {**asdict(self), "scores": [score.to_dict() for score in self.scores]}

    def score(self, by: str, method: Method | None = None) -> SenseScore:
        """The score of one layer and method, or of a baseline."""
        return next(score for score in self.scores if (score.by, score.method) == (by, method))


def scores(columns: Sequence[Column], right: Right, held_out: Mapping[Column, float] | None) -> list[SenseScore]:
    """The score of each column, then of the baselines.

    Args:
        columns: What gave answers from vectors.
        right: (N, C) their answers, then those of the most frequent sense and, if it is known, of the first sense.
        held_out: The accuracy of each column on the text that a layer is chosen on, if one is to be chosen.
    """
    everything = [*columns, Column(MOST_FREQUENT), Column(FIRST)][: right.shape[1]]
    values = right.astype(np.float64)
    values = np.concatenate([values, values - values[:, [len(columns)]]], axis=1)  # (N, 2C)
    best, low_high = chosen(held_out or {}), np.stack(interval(values))  # (2, 2C)
    found: list[list[float]] = np.concatenate([values.mean(axis=0)[None], low_high]).T.tolist()
    return [
        SenseScore(
            by=column.by,
            method=column.method,
            whitened=column.whitened,
            accuracy=accuracy,
            low=low,
            high=high,
            difference=difference,
            difference_low=difference_low,
            difference_high=difference_high,
            held_out=(held_out or {}).get(column),
            chosen=column in best,
        )
        for column, (accuracy, low, high), (difference, difference_low, difference_high) in zip(
            everything, found[: len(everything)], found[len(everything) :], strict=True
        )
    ]


def chosen(held_out: Mapping[Column, float]) -> set[Column]:
    """The best column of each method, whitened and not; of equals the first."""
    best: dict[tuple[Method | None, bool], Column] = {}
    for column, accuracy in held_out.items():
        kind = column.method, column.whitened
        if kind not in best or accuracy > held_out[best[kind]]:
            best[kind] = column
    return set(best.values())

"""Whether one score is better than another by more than the choice of test items explains: the paired bootstrap.

Source: Efron and Tibshirani 1993, chapters 13 and 16; Koehn 2004 for its use with test sets.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.tasks.metrics.score import Score, Sums

_AT_ONCE = 2**22
"""Numbers of a table of drawn items that are in memory at a time."""


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much a score is better than another one on the same items.

    Attributes:
        difference: The first score less the second.
        low: Where the 95% interval of the difference begins.
        high: Where it ends.
        p: How often chance alone gives a difference as far from 0, in either direction.
        samples: How many times items were drawn.
        n: How many items there are.
    """

    difference: float
    low: float
    high: float
    p: float
    samples: int
    n: int

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {name: getattr(self, name) for name in ("difference", "low", "high", "p", "samples", "n")}


def paired_bootstrap(first: Score, second: Score, *, samples: int = 10_000, seed: int = 0) -> Difference:
    """Compare two scores of the same measure on the same items.

    Args:
        first: The score that may be better.
        second: The score it is compared with.
        samples: How many times items are drawn.
        seed: The same seed gives the same result.

    Raises:
        InputError: The scores are of different measures or numbers of items.

    Example:
        >>> from polyseme.tasks.metrics.accuracy import accuracy
        >>> gold = ["a", "b"] * 50
        >>> paired_bootstrap(accuracy(gold, gold), accuracy(gold, ["a"] * 100)).difference
        50.0
    """
    if first.metric != second.metric or first.items.shape != second.items.shape:
        raise InputError(
            f"cannot compare {first.metric} over {len(first.items):,} items with {second.metric} over "
            f"{len(second.items):,}; score both predictions on the same data"
        )
    return bootstrap_sums(first.items, second.items, first.formula, samples=samples, seed=seed)


def bootstrap_sums(
    first: Sums, second: Sums, formula: Callable[[Sums], Sums], *, samples: int = 10_000, seed: int = 0
) -> Difference:
    """Compare two systems by what each item adds to the sums of each.

    Args:
        first: Shape (items, sums).
        second: The same for the other system, items in the same order.
        formula: From sums, shape (..., sums), to scores.
        samples: How many times items are drawn.
        seed: The same seed gives the same result.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; give 1 or more")
    difference = float(formula(first.sum(0)) - formula(second.sum(0)))
    ours, theirs = np.hsplit(resampled(np.hstack([first, second]), samples=samples, seed=seed), [first.shape[1]])
    found = formula(ours) - formula(theirs)  # (samples,)
    low, high = np.quantile(found, (0.025, 0.975))
    # The sample itself is counted as one draw, so that p is never 0.
    below, above = ((found <= 0).sum() + 1) / (samples + 1), ((found >= 0).sum() + 1) / (samples + 1)
    return Difference(difference, float(low), float(high), float(min(1.0, 2 * min(below, above))), samples, len(first))


def resampled(items: Sums, *, samples: int, seed: int) -> Sums:
    """The sums of items that are drawn again and again, each time as many as there are, with replacement.

    Args:
        items: (N, C) what each item adds to the sums; a draw takes the same items of all columns.
        samples: How many times items are drawn.
        seed: The same seed gives the same draws.

    Returns:
        (samples, C)
    """
    n = len(items)
    random = np.random.default_rng(seed)
    drawn: list[Sums] = []
    for begin in range(0, samples, step := max(1, _AT_ONCE // n)):
        times = random.multinomial(n, np.full(n, 1 / n), size=min(step, samples - begin))  # (step, N)
        drawn.append(times.astype(np.float64) @ items)
    return np.concatenate(drawn)

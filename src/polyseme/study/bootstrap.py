"""How sure is a mean? Confidence intervals by drawing the items again."""

import numpy as np
from numpy.typing import NDArray

DRAWS = 2_000
"""How often the items are drawn, as many as there are, with replacement."""
_BLOCK = 100  # draws at a time


def interval(
    values: NDArray[np.float64], *, share: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The percentile interval of the mean of each column.

    Every draw takes the same items of all columns, so that the column of a difference has the interval of a paired
    difference.

    Args:
        values: (N, C) items and columns.
        share: How much of the draws lies in the interval.
        draws: How many.
        seed: Of the draws: the same one gives the same intervals.

    Returns:
        Its lower ends (C,) and its upper ends (C,).
    """
    random, count = np.random.default_rng(seed), len(values)
    means = []
    for start in range(0, draws, _BLOCK):
        some = min(_BLOCK, draws - start)
        times = random.multinomial(count, np.full(count, 1 / count), some)  # (some, N) how often each item is drawn
        means.append(times @ values / count)
    low, high = np.quantile(np.concatenate(means), [(1 - share) / 2, (1 + share) / 2], axis=0)
    return low, high

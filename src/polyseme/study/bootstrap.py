"""How sure is a mean? Confidence intervals by drawing the items again."""

import numpy as np
from numpy.typing import NDArray

from polyseme.tasks.metrics.bootstrap import resampled

DRAWS = 2_000
"""How often the items are drawn, as many as there are, with replacement."""


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
    means = resampled(values, samples=draws, seed=seed) / len(values)
    low, high = np.quantile(means, [(1 - share) / 2, (1 + share) / 2], axis=0)
    return low, high

"""How well do similarities tell pairs that mean the same from pairs that do not?"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Scores: TypeAlias = NDArray[np.floating]
Same: TypeAlias = NDArray[np.bool_]


def wins(scores: Scores, same: Same) -> NDArray[np.float64]:
    """The score of each pair that means the same against each that does not: 1, 0.5 for a tie, or 0.

    Args:
        scores: (P,) how similar the pairs are.
        same: (P,) whether they mean the same.
    """
    difference = scores[same][:, None].astype(np.float64) - scores[~same]
    return (np.sign(difference) + 1) / 2


def auc(scores: Scores, same: Same) -> float:
    """The probability that a pair that means the same is more similar than one that does not; a tie counts a half.

    Example:
        >>> auc(np.array([0.9, 0.4, 0.5, 0.4]), np.array([True, True, False, False]))
        0.625
    """
    return float(wins(scores, same).mean())

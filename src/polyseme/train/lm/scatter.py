"""Numbers to other numbers that look random and are always the same: decisions that need no memory of earlier ones."""

import numpy as np
from numpy.typing import NDArray


def scattered(numbers: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64: every number to 64 bits that look random (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(seed + 1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return result

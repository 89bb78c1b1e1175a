"""Vectors of eight bits per number beside a coarser index: what the index finds is compared once more with them.

They are two arrays of numpy that stay on disk and are read where they are needed.
"""

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import HalfVectors, Numbers, Vectors

_LARGEST = 127
_ROWS = 1 << 15  # rounded at a time
FEWEST, PER_RESULT = 60, 4
"""How many are compared once more: so many, and so many for each that is asked for."""

Codes = NDArray[np.int8]


class Refined:
    """The rounded vectors of a shard.

    Args:
        codes: (N, D) whole numbers.
        scales: (N,) what each row is multiplied by.
    """

    def __init__(self, codes: Codes, scales: Vectors) -> None:
        self._codes, self._scales = codes, scales

    def rows(self, numbers: Numbers) -> Vectors:
        """Some vectors (n, D)."""
        rows: Vectors = self._codes[numbers] * self._scales[numbers, None]
        return rows

    def nearest(self, query: Vectors, k: int, numbers: Numbers) -> tuple[Vectors, Numbers]:
        """The k of some vectors that are nearest to a unit vector (D,): similarities and numbers, best first."""
        near = self.rows(numbers) @ query
        best = np.lexsort((numbers, -near))[:k]
        return near[best], numbers[best]


def candidates(k: int) -> int:
    """How many vectors of the coarser index are compared once more to find k."""
    return FEWEST + PER_RESULT * k


def rounded(vectors: HalfVectors) -> tuple[Codes, Vectors]:
    """Codes (N, D) and scales (N,) of vectors (N, D): the largest number of a row becomes 127 or -127."""
    codes, scales = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _ROWS):
        some = vectors[start : start + _ROWS].astype(np.float32)
        scale = np.abs(some).max(axis=1) / _LARGEST
        scales[start : start + _ROWS] = scale
        codes[start : start + _ROWS] = np.rint(some / np.where(scale > 0, scale, 1)[:, None])
    return codes, scales

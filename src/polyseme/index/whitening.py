"""Whitening: vectors mapped so that the occurrences of a word spread equally in all directions.

The vectors of a word differ from each other along a few directions far more than along all others, whatever the word:
its place in the sentence, its inflection. Such directions say little about its sense and rule a cosine. Divided by the
spread within words, each direction counts the same.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import InputError

SHRINKAGE = 0.1
"""The share of the spread that is taken to be equal in all directions, so that a direction in which hardly anything
varies is not blown up."""
_LEAST = 1e-12  # of a variance, if all vectors of a word are alike


@dataclass(frozen=True)
class Whitening:
    """A map of vectors.

    Attributes:
        centre: (D,) the mean of the vectors that it was fitted on, which is taken off first.
        matrix: (D, D) what the rest is multiplied by.
    """

    centre: Vectors
    matrix: Vectors

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors (..., D) as whitened unit vectors; what lies at the centre becomes zeros."""
        mapped = (vectors - self.centre) @ self.matrix
        length = np.linalg.norm(mapped, axis=-1, keepdims=True)
        return np.asarray(mapped / np.where(length > 0, length, 1), dtype=np.float32)


class SpreadWithinWords:
    """Gathers the covariance of vectors around the mean of their word, some vectors at a time.

    Args:
        words: How many words there are, W.
        dim: The length of the vectors, D.
    """

    def __init__(self, words: int, dim: int) -> None:
        self._products = np.zeros((dim, dim))
        self._sums = np.zeros((words, dim))
        self._counts = np.zeros(words, dtype=np.int64)

    def add(self, vectors: Vectors, words: Numbers) -> None:
        """Take in vectors (N, D) of these words (N,)."""
        exact = vectors.astype(np.float64)  # words lie far apart beside the spread within them, which is a difference
        self._products += exact.T @ exact
        np.add.at(self._sums, words, exact)
        self._counts += np.bincount(words, minlength=len(self._counts))

    def whitening(self, shrinkage: float = SHRINKAGE) -> Whitening:
        """The map that makes the covariance within words the identity, but for the shrinkage.

        Args:
            shrinkage: The share of the covariance that is replaced by the same variance in all directions.

        Raises:
            InputError: No word occurs twice.
        """
        total, seen = int(self._counts.sum()), self._counts > 0
        if total <= (words := int(seen.sum())):
            raise InputError("no word occurs twice, and the spread within words is not known; give more text")
        around = self._sums[seen] / np.sqrt(self._counts[seen])[:, None]
        covariance = (self._products - around.T @ around) / (total - words)
        return Whitening((self._sums.sum(axis=0) / total).astype(np.float32), _inverse_root(covariance, shrinkage))


def _inverse_root(covariance: NDArray[np.float64], shrinkage: float) -> Vectors:
    """The symmetric matrix whose square is the inverse of the shrunk covariance (D, D)."""
    variances, directions = np.linalg.eigh(covariance)
    shrunk = (1 - shrinkage) * variances.clip(min=0) + max(shrinkage * variances.mean(), _LEAST)
    root: Vectors = ((directions / np.sqrt(shrunk)) @ directions.T).astype(np.float32)
    return root

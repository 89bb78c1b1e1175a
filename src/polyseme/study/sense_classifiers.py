"""Which sense does an occurrence have? That of the nearest average, or of its nearest neighbours."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Vectors

Space: TypeAlias = Callable[[Vectors], Vectors]
"""Maps the vectors (N, L, D) of occurrences in all layers to the unit vectors (N, D') that are compared."""

_EQUAL = 1e-5
"""Cosines that differ by less are those of the same vectors, but for rounding."""


class SensesOfLexeme:
    """What is known about the senses of a lexeme: its occurrences in a tagged text.

    Args:
        senses: Of each of its N occurrences; one with several senses is an example of each.
        vectors: (N, L, D) in all layers.

    Attributes:
        senses: The distinct ones, S, the most frequent first; of equals the one that comes first in the text.
    """

    def __init__(self, senses: Sequence[Sequence[str]], vectors: Vectors) -> None:
        counts = Counter(sense for some in senses for sense in some)
        self.senses = [sense for sense, _ in counts.most_common()]
        self._vectors = vectors
        self._bears = np.array(
            [[sense in some for sense in self.senses] for some in senses], dtype=np.float32
        )  # (N, S)

    def by_centroid(self, asked: Vectors, space: Space) -> list[str]:
        """The sense whose average vector is nearest to each of the asked occurrences (M, L, D), by cosine.

        The average is taken of the vectors as they are, and then mapped. Of senses that are equally near, as in layer 0
        all senses of an uninflected word are, the most frequent.
        """
        sums = np.tensordot(self._bears.T, self._vectors, axes=1)  # (S, L, D)
        averages = sums / self._bears.sum(axis=0)[:, None, None]
        return self._best(space(asked) @ space(averages).T)

    def by_neighbours(self, asked: Vectors, space: Space, k: int) -> list[str]:
        """The sense that most of the k occurrences nearest to each of the asked ones (M, L, D) bear, by cosine.

        Occurrences that are as near as the k-th count as well. Of senses with as many votes, the one whose voters are
        nearer; then the most frequent.
        """
        cosines = space(asked) @ space(self._vectors).T  # (M, N)
        last = max(0, cosines.shape[1] - k)
        near = cosines >= np.partition(cosines, last, axis=1)[:, last : last + 1] - _EQUAL
        votes = near @ self._bears
        nearness = np.where(near, cosines, 0) @ self._bears / near.sum(axis=1, keepdims=True)  # (M, S) from -1 to 1
        return self._best(votes + nearness / 4)  # a quarter, so that nearness never outweighs a vote

    def _best(self, scores: NDArray[np.floating]) -> list[str]:
        """The first of the best senses, by scores (M, S)."""
        best = (scores >= scores.max(axis=1, keepdims=True) - _EQUAL).argmax(axis=1)
        return [self.senses[number] for number in best]

"""The measures of change between the occurrences of a word in two texts.

For unit vectors x of the old occurrences and y of the new ones:

- APD, the average pairwise distance, is the mean of 1 - cos(x, y) over all pairs. As the cosine is linear in unit
  vectors, that is 1 - mean(x) · mean(y), exactly and without a loop over the pairs.
- PRT, the distance of the prototypes, is 1 - cos(mean(x), mean(y)). It is also published inverted, as
  1 / cos(mean(x), mean(y)), which ranks words in the same order.

If the occurrences of both texts are shuffled and split again, the mean of APD over all splits is the mean of
1 - cos(x, y) over all pairs of different occurrences, which the sums give as well.

APD grows with the number of senses even if none is new; PRT is 0 if the averages agree. (Kutuzov and Giulianelli 2020,
"UiO-UvA at SemEval-2020 Task 1".)
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Vectors
from polyseme.files.whole import JSON


class Change(NamedTuple):
    """A word in two texts."""

    word: str
    apd: float
    prt: float
    old: int
    """Occurrences that were compared, in each text."""
    new: int
    by_chance: float = 0.0
    """The mean APD over all ways to split the occurrences of both texts anew."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {"word": self.word, "apd": self.apd, "prt": self.prt, "old": self.old, "new": self.new}


class Usage:
    """The sums of the unit vectors of words in a text; letter case does not count.

    Attributes:
        counts: Occurrences of each word that are in its sum.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._sums: dict[str, NDArray[np.float64]] = {}

    def add(self, word: str, vector: Vectors, count: int = 1) -> None:
        """Take in a unit vector (D,), or the sum of several."""
        folded = word.casefold()
        self.counts[folded] += count
        if folded in self._sums:
            self._sums[folded] += vector
        else:
            self._sums[folded] = vector.astype(np.float64)

    def mean(self, word: str) -> NDArray[np.float64]:
        """The average (D,) of a word's unit vectors."""
        return self._sums[word] / self.counts[word]

    def sum(self, word: str) -> NDArray[np.float64]:
        """The sum (D,) of a word's unit vectors."""
        return self._sums[word]


def compare(old: Usage, new: Usage) -> list[Change]:
    """The change of the words that are in both texts, by APD, the most changed first."""
    changes = []
    for word in old.counts.keys() & new.counts.keys():
        one, two = old.mean(word), new.mean(word)
        product, lengths = float(one @ two), float(np.linalg.norm(one) * np.linalg.norm(two))
        prt = max(0.0, 1 - product / lengths) if lengths else 1.0
        counts = old.counts[word], new.counts[word]
        by_chance = _by_chance(old.sum(word) + new.sum(word), sum(counts))
        changes.append(Change(word, max(0.0, 1 - product), prt, *counts, by_chance))
    return sorted(changes, key=lambda change: (-change.apd, change.word))


def _by_chance(total: NDArray[np.float64], count: int) -> float:
    """The mean of 1 - cosine over all pairs of different vectors, of which this is the sum (D,)."""
    return 1 - float(total @ total - count) / (count * (count - 1))

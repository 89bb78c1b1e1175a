"""What a study of change needs of two texts, whether they are embedded now or were stored as indexes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection

from polyseme.arrays import Vectors
from polyseme.errors import InputError
from polyseme.index.occurrence import Occurrence
from polyseme.study.change_measures import Change
from polyseme.text.query_word import cut_apart
from polyseme.text.segmentation import Segmentation

MOST_WORDS = 10_000
"""How many words are compared if none is named: the most frequent ones."""

Occurrences = tuple[list[Occurrence], Vectors]
"""Occurrences of a word, and their unit vectors (n, D)."""


class Compared(ABC):
    """An old and a new text.

    Attributes:
        counts: How often each word, in lower case, occurs in the old and in the new text.
        model: What made the vectors, as messages name it.
        segmentation: How the old text was tokenised.
        when_cut: When a dictionary can be given, if not now.
    """

    when_cut = ""
    model: str
    counts: tuple[Counter[str], Counter[str]]
    segmentation: Segmentation

    @abstractmethod
    def changes(self, words: Collection[str] = (), *, least: int = 10, keep: Collection[str] = ()) -> list[Change]:
        """How much words have changed, the most changed first.

        Args:
            words: Which words; if none is given, all words with a letter that occur often enough in both texts, the
                10,000 most frequent at most.
            least: How often is often enough.
            keep: Words whose occurrences will be asked for.
        """

    @abstractmethod
    def occurrences(self, words: Collection[str], *, most: int) -> dict[str, tuple[Occurrences, Occurrences]]:
        """The occurrences of words in the old and in the new text, at most so many in each, spread evenly."""

    def choose(self, words: Collection[str], least: int) -> set[str]:
        """The words to compare, in lower case, that are in both texts."""
        old, new = self.counts
        if words:
            chosen = {word.casefold() for word in words if old[word.casefold()] and new[word.casefold()]}
            apart = next(filter(None, (cut_apart(word, self.segmentation, self.when_cut) for word in words)), None)
            advice = apart or "check their spelling, and how the text is tokenised"
            what = f"none of the words is in both texts; {advice}"
        else:
            both = old & new  # the lesser count
            often = [word for word, count in both.most_common() if count >= least and any(map(str.isalpha, word))]
            chosen = set(often[:MOST_WORDS])
            what = f"no word occurs {least} times in both texts; give more text, or a lower limit"
        if not chosen:
            raise InputError(what)
        return chosen


def folded(counts: Counter[str]) -> Counter[str]:
    """Counts in lower case."""
    total: Counter[str] = Counter()
    for word, count in counts.items():
        total[word.casefold()] += count
    return total

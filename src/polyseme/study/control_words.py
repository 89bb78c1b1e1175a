"""Control words: words that are as frequent as the one that is studied, with which it can be compared."""

import heapq
import math
from collections.abc import Collection, Mapping, Sequence


def control_words(
    word: str, counts: Sequence[Mapping[str, int]], count: int, *, among: Collection[str] | None = None
) -> list[str]:
    """The words whose frequencies are nearest to a word's: the least sum, over the texts, of the log of their ratio.

    Args:
        word: The word, as the counts have it.
        counts: How often words occur in each of the texts.
        count: How many words to give.
        among: Only words that are here; by default all that have a letter and occur in all texts.

    Example:
        >>> control_words("bank", [{"bank": 10, "river": 9, "the": 99, "Bank": 10, ",": 10, "cards": 20}], 2)
        ['river', 'cards']
    """
    target = [math.log(some[word]) for some in counts]

    def distance(other: str) -> tuple[float, str]:
        ratios = (abs(math.log(some[other]) - wanted) for some, wanted in zip(counts, target, strict=True))
        return sum(ratios), other

    others = (
        other
        for other in (counts[0] if among is None else among)
        if other.casefold() != word.casefold()
        and any(map(str.isalpha, other))
        and all(some.get(other) for some in counts)
    )
    return heapq.nsmallest(count, others, key=distance)

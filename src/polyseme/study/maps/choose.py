"""Which occurrences of an index are on a map, and which of them are its sample?"""

from collections.abc import Collection

import numpy as np

from polyseme.arrays import Numbers
from polyseme.index.occurrence_index import OccurrenceIndex

_SHARE = 200  # no word has more than one in this many of the sample, and the rarer words get what is left
_LEAST = 10  # but so many it may have
_CANDIDATES = 4  # times as many occurrences as there is room for are looked at


def choose(index: OccurrenceIndex, *, points: int, sample: int, words: Collection[str]) -> tuple[Numbers, Numbers]:
    """The numbers of the sample, and those of the other points.

    Tokens without a letter are left out, as long as there are others. The sample is spread evenly over the text, but no
    word fills more than a small part of it, so that there is room for more than function words.

    Args:
        index: Where the occurrences are.
        points: How many, the sample included.
        sample: How many in the sample.
        words: Words that come first, with up to half of the sample.
    """
    candidates = _candidates(index, points)
    names = np.array(index.numbered.words(candidates), dtype=object)
    distinct, inverse = np.unique(names, return_inverse=True)
    lettered = np.array([any(map(str.isalpha, word)) for word in distinct.tolist()])[inverse]
    if lettered.any():
        candidates, inverse = candidates[lettered], inverse[lettered]
    wished = [index.numbered.of(word, most=max(1, sample // 2 // len(words))) for word in dict.fromkeys(words)]
    first = np.unique(np.concatenate([np.zeros(0, np.int64), *wished]))[:sample]
    free = ~np.isin(candidates, first)
    candidates, inverse = candidates[free], inverse[free]
    chosen = _capped(inverse, sample - len(first), max(_LEAST, sample // _SHARE))
    others = np.delete(candidates, chosen)
    room = max(0, points - len(first) - len(chosen))
    return np.sort(np.concatenate([first, candidates[chosen]])), others[_even(len(others), room)]


def _candidates(index: OccurrenceIndex, points: int) -> Numbers:
    return _even(len(index), _CANDIDATES * points)


def _even(total: int, most: int) -> Numbers:
    """Positions, at most this many, spread evenly."""
    if total <= most:
        return np.arange(total)
    return np.unique(np.linspace(0, total - 1, most).astype(np.int64)) if most else np.zeros(0, np.int64)


def _capped(words: Numbers, wanted: int, most: int) -> Numbers:
    """Positions of occurrences, spread evenly, with at most so many of a word (while there are others)."""
    if wanted >= len(words):
        return np.arange(len(words))
    if wanted <= 0:
        return np.zeros(0, np.int64)
    # The occurrences of a word in a fixed random order: those of low rank are taken first.
    draw = np.random.default_rng(1)
    order = np.lexsort((draw.random(len(words)), words))
    counts = np.bincount(words)
    starts = np.cumsum(counts) - counts
    rank = np.empty(len(words), dtype=np.int64)
    rank[order] = np.arange(len(words)) - starts[words[order]]
    # The share that a word keeps is one for all words but the most frequent, which keep no more than the cap.
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(counts * middle, most).sum() < wanted else (low, middle)
    limit = np.minimum(counts * high, most)
    whole = np.floor(limit + draw.random(len(limit)))  # so that rare words are there in proportion
    within = np.flatnonzero(rank < whole[words])
    if len(within) < wanted:  # then words with few occurrences in it come first
        beyond = np.setdiff1d(np.arange(len(words)), within)
        more = beyond[np.argsort(rank[beyond], kind="stable")][: wanted - len(within)]
        within = np.sort(np.concatenate([within, more]))
    return within[_even(len(within), wanted)]

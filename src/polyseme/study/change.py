"""How much has a word changed? Its occurrences in two texts, compared.

For unit vectors x of the old occurrences and y of the new ones:

- APD, the average pairwise distance, is the mean of 1 - cos(x, y) over all pairs. As the cosine is linear in unit
  vectors, that is 1 - mean(x) · mean(y), exactly and without a loop over the pairs.
- PRT, the distance of the prototypes, is 1 - cos(mean(x), mean(y)). It is also published inverted, as
  1 / cos(mean(x), mean(y)), which ranks words in the same order.

APD grows with the number of senses even if none is new; PRT is 0 if the averages agree. (Kutuzov and Giulianelli 2020,
"UiO-UvA at SemEval-2020 Task 1".)
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice, check_single
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.vectors import unit
from polyseme.progress import TokenCounter, Watcher, watching
from polyseme.text.corpus import Corpus

MOST_WORDS = 10_000
"""How many words are compared if none is named: the most frequent ones."""


class Change(NamedTuple):
    """A word in two texts."""

    word: str
    apd: float
    prt: float
    old: int
    """Occurrences that were compared, in each text."""
    new: int

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


def compare(old: Usage, new: Usage) -> list[Change]:
    """The change of the words that are in both texts, by APD, the most changed first."""
    changes = []
    for word in old.counts.keys() & new.counts.keys():
        one, two = old.mean(word), new.mean(word)
        product, lengths = float(one @ two), float(np.linalg.norm(one) * np.linalg.norm(two))
        prt = max(0.0, 1 - product / lengths) if lengths else 1.0
        changes.append(Change(word, max(0.0, 1 - product), prt, old.counts[word], new.counts[word]))
    return sorted(changes, key=lambda change: (-change.apd, change.word))


def change_of_indexes(old: Path, new: Path, *, words: Collection[str] = (), least: int = 10) -> list[Change]:
    """Compare two indexes, over all occurrences that are in them.

    Args:
        old: The folder of an index.
        new: The folder of another, built with the same model and layers.
        words: Which words; if none is given, all words with a letter that occur often enough in both, the 10,000 most
            frequent at most.
        least: How often is often enough.
    """
    indexes = OccurrenceIndex(old), OccurrenceIndex(new)
    for name, value in indexes[0].made_with.items():
        if value != (other := indexes[1].made_with[name]):
            raise InputError(
                f"{old} was built with {name} {value!r}, {new} with {other!r}; their vectors cannot be compared, "
                "build both alike"
            )
    counts = [_folded(index.counts) for index in indexes]
    chosen = _choose(*counts, words=words, least=least)
    usages = (Usage(), Usage())
    for usage, index in zip(usages, indexes, strict=True):
        for word, count, total in index.word_sums():
            if word.casefold() in chosen:
                usage.add(word, total, count)
    return compare(*usages)


def change_of_texts(
    embedder: VectorSource,
    old: Corpus,
    new: Corpus,
    *,
    words: Collection[str] = (),
    least: int = 10,
    most: int = 1000,
    layers: LayerChoice = "top",
    watcher: Watcher | None = None,
) -> list[Change]:
    """Compare two texts; each is read twice, to count and to embed the sentences that are needed.

    Args:
        embedder: Computes the vectors.
        old: A text.
        new: Another.
        words: Which words; if none is given, all words with a letter that occur often enough in both, the 10,000 most
            frequent at most.
        least: How often is often enough.
        most: Occurrences of a word to embed in each text, spread evenly over it.
        layers: Which vector: ``"top"``, ``"mean"`` or the number of a layer.
        watcher: Is told how the work goes; by default a bar in a notebook.
    """
    check_single(layers, embedder.layers)
    for corpus in (old, new):
        corpus.follow(embedder.segmentation)
    with watching(watcher) as told:
        counts = [_count(corpus, told) for corpus in (old, new)]
        chosen = _choose(*counts, words=words, least=least)
        usages = [
            _usage(embedder, corpus, {word: count[word] for word in chosen}, most, layers, told)
            for corpus, count in zip((old, new), counts, strict=True)
        ]
    return compare(*usages)


def _count(corpus: Corpus, watcher: Watcher) -> Counter[str]:
    """How often each word, in lower case, occurs in a text."""
    counter, counts = TokenCounter(watcher, f"counting the words of {corpus}"), Counter[str]()
    for sentence in corpus.nonempty():
        counts.update(token.casefold() for token in sentence.tokens)
        counter.add(len(sentence.tokens), corpus.share_read())
    return counts


def _usage(
    embedder: VectorSource, corpus: Corpus, totals: dict[str, int], most: int, layers: LayerChoice, watcher: Watcher
) -> Usage:
    """Embed the occurrences of some words, given how often each occurs in the text."""
    usage, counter = Usage(), TokenCounter(watcher, f"embedding {corpus}")
    sentences = ((*needed, corpus.share_read()) for needed in _needed(corpus, totals, most))
    for (tokens, positions, share), rows in embedder.stream_with(sentences, lambda one: one[0], layers=layers):
        for position, row in zip(positions, unit(rows[positions]), strict=True):
            usage.add(tokens[position], row)
        counter.add(len(tokens), share)
    return usage


def _choose(old: Counter[str], new: Counter[str], *, words: Collection[str], least: int) -> set[str]:
    """The words to compare, in lower case, that are in both texts."""
    if words:
        chosen = {word.casefold() for word in words if old[word.casefold()] and new[word.casefold()]}
        what = "none of the words is in both texts; check their spelling, and how the text is tokenised"
    else:
        both = old & new  # the lesser count
        often = [word for word, count in both.most_common() if count >= least and any(map(str.isalpha, word))]
        chosen = set(often[:MOST_WORDS])
        what = f"no word occurs {least} times in both texts; give more text, or a lower limit"
    if not chosen:
        raise InputError(what)
    return chosen


def _needed(corpus: Corpus, totals: dict[str, int], most: int) -> Iterator[tuple[list[str], list[int]]]:
    """Sentences and the positions of the occurrences to embed: a limited number per word, spread evenly."""
    seen: defaultdict[str, int] = defaultdict(int)
    for sentence in corpus:
        positions = []
        for position, token in enumerate(sentence.tokens):
            word = token.casefold()
            if total := totals.get(word):
                share = min(most, total)
                # Exactly `share` of the numbers 0 .. total - 1 pass, at even distances.
                if seen[word] * share // total != (seen[word] + 1) * share // total:
                    positions.append(position)
                seen[word] += 1
        if positions:
            yield sentence.tokens, positions


def _folded(counts: Counter[str]) -> Counter[str]:
    """Counts in lower case."""
    total: Counter[str] = Counter()
    for word, count in counts.items():
        total[word.casefold()] += count
    return total

"""How well vectors tell senses apart: the nearest sense centroid, one layer at a time.

As in "Deep contextualized word representations" (Peters et al. 2018, section 5.3): the vectors of all training
occurrences of a sense are averaged, and a test occurrence gets the sense of its lexeme whose average is nearest by
cosine. A lexeme that training never saw gets its first sense.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.index import Advance
from polyseme.index.vectors import unit
from polyseme.study.sense_data import Lexeme, SenseTag, TaggedSentence, first_senses, read_senses

Vectors = NDArray[np.float32]

_EQUAL = 1e-5
"""Cosines that differ by less are those of the same vectors, but for rounding."""


@dataclass(frozen=True, slots=True)
class SenseAccuracy:
    """Shares of the test occurrences that got a right sense; every one counts, so that accuracy is F1."""

    layers: dict[str, float]
    """By layer, and for the mean of all layers."""
    most_frequent: float
    """Of the most frequent sense in training, whatever the vectors say."""
    first_sense: float | None
    """Of WordNet's first sense, where its list was given."""
    instances: int
    """Test occurrences."""
    backed_off: float
    """The share of them whose lexeme is not in the training text; these get the first sense in all figures."""
    unanswered: float
    """The share without any answer, as no first sense is known either; these count as wrong."""
    left_out: int
    """Test occurrences that bear no sense at all; these do not count."""
    trained: int
    """Training occurrences of the lexemes that are tested."""


class SenseCentroids:
    """The average vector of each sense in all layers.

    Args:
        lexemes: Those that will be asked about; others are not kept, so that memory does not grow with the training
            text.
    """

    def __init__(self, lexemes: Iterable[Lexeme]) -> None:
        self._sums: dict[Lexeme, dict[str, Vectors]] = {lexeme: {} for lexeme in lexemes}
        self._counts: dict[Lexeme, Counter[str]] = {lexeme: Counter() for lexeme in self._sums}

    def wants(self, tag: SenseTag) -> bool:
        """Whether an occurrence is one to learn from."""
        return bool(tag.senses) and tag.lexeme in self._sums

    def add(self, tag: SenseTag, vectors: Vectors) -> None:
        """Learn from an occurrence with its vectors (L, D); one with several senses is an example of each."""
        for sense in tag.senses:
            sums = self._sums[tag.lexeme].setdefault(sense, np.zeros_like(vectors))
            sums += vectors
            self._counts[tag.lexeme][sense] += 1

    def most_frequent(self, lexeme: Lexeme) -> str | None:
        """The sense with the most occurrences, the first met of several; None for a lexeme that was never seen."""
        return next((sense for sense, _ in self._counts[lexeme].most_common(1)), None)

    def nearest(self, lexeme: Lexeme, vectors: Vectors) -> list[str]:
        """The nearest sense in each layer, then in the mean of the layers, for the vectors (L, D) of an occurrence.

        Of senses that are equally near, as in layer 0 all senses of an uninflected word are, the most frequent.
        """
        senses, numbers = zip(*self._counts[lexeme].most_common(), strict=True)
        counts = np.array(numbers, dtype=np.float32)
        centroids = np.stack([self._sums[lexeme][sense] for sense in senses]) / counts[:, None, None]  # (S, L, D)
        similarities = np.einsum("sld,ld->sl", unit(_with_mean(centroids)), unit(_with_mean(vectors)))
        nearest = similarities >= similarities.max(axis=0) - _EQUAL
        return [senses[best] for best in nearest.argmax(axis=0)]


def evaluate_senses(
    embedder: VectorSource,
    train: Sequence[Path],
    test: Sequence[Path],
    *,
    sense_index: Path | None = None,
    advance: Advance | None = None,
) -> SenseAccuracy:
    """Learn senses from one tagged text and find them in another.

    Args:
        embedder: What makes the vectors. A word of several tokens has the mean of theirs.
        train: Files of tagged sentences, see `read_senses`.
        test: The same.
        sense_index: WordNet's ``index.sense``, for its first senses. A sense key does not tell whether it is the
            first, so without this file a lexeme that is not in the training text gets no answer.
        advance: Told of tokens done and of the share of the training text read.
    """
    lexemes: set[Lexeme] = set()
    count = left_out = 0
    for tag in chain.from_iterable(sentence.tags for sentence in _read(test)):
        if tag.senses:
            lexemes.add(tag.lexeme)
            count += 1
        else:
            left_out += 1
    if not count:
        raise InputError(f"{_names(test)}: no word bears a sense; give tagged text to test on")
    listed = {} if sense_index is None else first_senses(sense_index, lexemes)
    centroids = SenseCentroids(lexemes)
    trained = _learn(embedder, train, centroids, advance)
    if not trained:
        raise InputError(
            f"{_names(train)}: none of the {len(lexemes):,} tested lemmas bears a sense there; give text tagged with "
            "the same lemmas and parts of speech"
        )
    right = np.zeros(embedder.layers + 1)
    frequent_right = first_right = backed_off = unanswered = 0
    for sentence, rows in _embedded(embedder, _chosen(test, _bears_sense)):
        for tag in filter(_bears_sense, sentence.tags):
            frequent, first = centroids.most_frequent(tag.lexeme), listed.get(tag.lexeme)
            first_right += first in tag.senses
            frequent_right += (frequent or first) in tag.senses
            if frequent is not None:
                right += [sense in tag.senses for sense in centroids.nearest(tag.lexeme, _vectors(rows, tag))]
            else:
                right += first in tag.senses
                backed_off += 1
                unanswered += first is None
    names = [*map(str, range(embedder.layers)), "mean"]
    return SenseAccuracy(
        layers={name: float(share) for name, share in zip(names, right / count, strict=True)},
        most_frequent=frequent_right / count,
        first_sense=None if sense_index is None else first_right / count,
        instances=count,
        backed_off=backed_off / count,
        unanswered=unanswered / count,
        left_out=left_out,
        trained=trained,
    )


def _learn(embedder: VectorSource, train: Sequence[Path], centroids: SenseCentroids, advance: Advance | None) -> int:
    """Fill the centroids; gives the number of occurrences."""
    trained = 0
    for sentence, rows in _embedded(embedder, _chosen(train, centroids.wants)):
        for tag in filter(centroids.wants, sentence.tags):
            centroids.add(tag, _vectors(rows, tag))
            trained += 1
        if advance is not None:
            advance(len(sentence.tokens), sentence.share)
    return trained


def _read(paths: Sequence[Path]) -> Iterator[TaggedSentence]:
    """All sentences, with how much of all files was read."""
    for number, path in enumerate(paths):
        for sentence in read_senses(path):
            yield replace(sentence, share=(number + sentence.share) / len(paths))


def _chosen(paths: Sequence[Path], wanted: Callable[[SenseTag], bool]) -> Iterator[TaggedSentence]:
    """Sentences with something to learn or to ask; the others need not be embedded."""
    return (sentence for sentence in _read(paths) if any(map(wanted, sentence.tags)))


def _embedded(embedder: VectorSource, sentences: Iterator[TaggedSentence]) -> Iterator[tuple[TaggedSentence, Vectors]]:
    """Sentences with the vectors (L, T, D) of their tokens."""
    return embedder.stream_with(sentences, lambda sentence: sentence.tokens, layers="all")


def _with_mean(layers: Vectors) -> Vectors:
    """(..., L, D) to (..., L + 1, D)."""
    return np.concatenate([layers, layers.mean(axis=-2, keepdims=True)], axis=-2)


def _vectors(rows: Vectors, tag: SenseTag) -> Vectors:
    """The mean (L, D) over the tokens of a word, of the vectors (L, T, D) of its sentence."""
    mean: Vectors = rows[:, tag.start : tag.stop].mean(axis=1)
    return mean


def _bears_sense(tag: SenseTag) -> bool:
    return bool(tag.senses)


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))

"""How well vectors tell senses apart: by the nearest centroid of a sense, layer by layer.

As in "Deep contextualized word representations" (Peters et al. 2018, section 5.3): the vectors of all training
occurrences of a sense are averaged, and a test occurrence gets the sense of its lexeme whose average is nearest by
cosine. A lexeme that training never saw gets its first sense.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Vectors
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.vectors import unit
from polyseme.progress import TokenCounter, Watcher, watching
from polyseme.study.sense_data import Lexeme, SenseTag, TaggedSentence, first_senses, read_senses

_EQUAL = 1e-5
"""Cosines that differ by less are those of the same vectors, but for rounding."""


@dataclass(frozen=True, slots=True)
class SenseAccuracy:
    """Shares of the test occurrences that got a right sense; every one counts, so accuracy is F1."""

    layers: dict[str, float]
    """By layer, and for the mean of all layers."""
    most_frequent: float
    """Of the most frequent sense in training, without vectors."""
    first_sense: float | None
    """Of WordNet's first sense, if its list was given."""
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

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        values: dict[str, JSON] = asdict(self)
        return values


class SenseCentroids:
    """The average vector of each sense in all layers.

    Args:
        lexemes: Those that are tested; others are not kept, so that memory does not grow with the training text.
    """

    def __init__(self, lexemes: Iterable[Lexeme]) -> None:
        self._sums: dict[Lexeme, dict[str, Vectors]] = {lexeme: {} for lexeme in lexemes}
        self._counts: dict[Lexeme, Counter[str]] = {lexeme: Counter() for lexeme in self._sums}

    @property
    def lexemes(self) -> int:
        """How many lexemes are tested."""
        return len(self._sums)

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
        """The sense with the most occurrences, of equals the first; None for a lexeme that was never seen."""
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


@dataclass(slots=True)
class _Tally:
    """How many test occurrences got a right sense: from the vectors (L + 1,), and without them."""

    by_layer: NDArray[np.float64]
    most_frequent: int = 0
    first_sense: int = 0
    backed_off: int = 0
    unanswered: int = 0


def evaluate_senses(
    embedder: VectorSource,
    train: Sequence[Path],
    test: Sequence[Path],
    *,
    sense_index: Path | None = None,
    watcher: Watcher | None = None,
) -> SenseAccuracy:
    """Learn senses from one tagged text and find them in another.

    Args:
        embedder: Computes the vectors. A word of several tokens has the mean of theirs.
        train: Files of tagged sentences, see `read_senses`.
        test: The same.
        sense_index: WordNet's ``index.sense``, for its first senses. A sense key does not tell whether it is the
            first, so without this file a lexeme that is not in the training text gets no answer.
        watcher: Is told how the work goes; by default a bar in a notebook.
    """
    lexemes, count, left_out = _tested(test)
    listed = {} if sense_index is None else first_senses(sense_index, lexemes)
    centroids = SenseCentroids(lexemes)
    with watching(watcher) as told:
        trained = _learn(embedder, train, centroids, told)
        tally = _test(embedder, test, centroids, listed, told)
    names = [*map(str, range(embedder.layers)), "mean"]
    return SenseAccuracy(
        layers={name: float(share) for name, share in zip(names, tally.by_layer / count, strict=True)},
        most_frequent=tally.most_frequent / count,
        first_sense=None if sense_index is None else tally.first_sense / count,
        instances=count,
        backed_off=tally.backed_off / count,
        unanswered=tally.unanswered / count,
        left_out=left_out,
        trained=trained,
    )


def _tested(test: Sequence[Path]) -> tuple[set[Lexeme], int, int]:
    """The lexemes of a tagged text, how many occurrences bear a sense, and how many do not."""
    lexemes: set[Lexeme] = set()
    count = left_out = 0
    for sentence in _read(test):
        for tag in sentence.tags:
            if tag.senses:
                lexemes.add(tag.lexeme)
                count += 1
            else:
                left_out += 1
    if not count:
        raise InputError(f"{_names(test)}: no word bears a sense; give tagged text to test on")
    return lexemes, count, left_out


def _learn(embedder: VectorSource, train: Sequence[Path], centroids: SenseCentroids, watcher: Watcher) -> int:
    """Fill the centroids; return the number of occurrences."""
    counter, trained = TokenCounter(watcher, f"learning senses from {_names(train)}"), 0
    for sentence, rows in _embedded(embedder, _chosen(train, centroids.wants)):
        for tag in filter(centroids.wants, sentence.tags):
            centroids.add(tag, _vectors(rows, tag))
            trained += 1
        counter.add(len(sentence.tokens), sentence.share)
    if not trained:
        raise InputError(
            f"{_names(train)}: none of the {centroids.lexemes:,} tested lemmas bears a sense there; give text tagged "
            "with the same lemmas and parts of speech"
        )
    return trained


def _test(
    embedder: VectorSource,
    test: Sequence[Path],
    centroids: SenseCentroids,
    listed: Mapping[Lexeme, str],
    watcher: Watcher,
) -> _Tally:
    """Find the senses of the test occurrences, and count those that are right."""
    counter, tally = TokenCounter(watcher, f"finding senses in {_names(test)}"), _Tally(np.zeros(embedder.layers + 1))
    for sentence, rows in _embedded(embedder, _chosen(test, _bears_sense)):
        for tag in filter(_bears_sense, sentence.tags):
            frequent, first = centroids.most_frequent(tag.lexeme), listed.get(tag.lexeme)
            tally.first_sense += first in tag.senses
            tally.most_frequent += (frequent or first) in tag.senses
            if frequent is not None:
                nearest = centroids.nearest(tag.lexeme, _vectors(rows, tag))
                tally.by_layer += [sense in tag.senses for sense in nearest]
            else:
                tally.by_layer += first in tag.senses
                tally.backed_off += 1
                tally.unanswered += first is None
        counter.add(len(sentence.tokens), sentence.share)
    return tally


def _read(paths: Sequence[Path]) -> Iterator[TaggedSentence]:
    """All sentences, with how much of all files was read."""
    for number, path in enumerate(paths):
        for sentence in read_senses(path):
            yield replace(sentence, share=(number + sentence.share) / len(paths))


def _chosen(paths: Sequence[Path], wanted: Callable[[SenseTag], bool]) -> Iterator[TaggedSentence]:
    """Sentences with something to learn or to find; the others need not be embedded."""
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

"""The vectors of occurrences in every layer, computed anew: an index holds one layer alone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.places import Place
from polyseme.index.vectors import unit
from polyseme.study.maps.occurrence_map import MEAN, STATIC

Told = Callable[[int], None]
"""Is given the number of occurrences that are done."""


class Computed(NamedTuple):
    """What was found about n occurrences.

    Attributes:
        vectors: Unit vectors (n, D) by layer; zeros for a word that static vectors do not have.
        words: The word of each.
        documents: The document of each, or else its file; empty if neither is known.
        labels: The label of the text that each is in; empty without one.
    """

    vectors: dict[str, Vectors]
    words: list[str]
    documents: list[str]
    labels: list[str]


class _Together(NamedTuple):
    """Occurrences in one sentence."""

    rows: list[int]
    sentence: list[str]
    positions: list[int]
    place: Place


def layer_names(source: VectorSource, static: StaticVectors | None) -> list[str]:
    """The layers of a map: those of the model, their mean if there are several, and the static vectors."""
    own = [str(number) for number in range(source.layers)]
    return [*own, *([MEAN] if len(own) > 1 else []), *([STATIC] if static is not None else [])]


def layer_vectors(
    indexes: Sequence[OccurrenceIndex],
    corpora: Numbers,
    numbers: Numbers,
    static: StaticVectors | None,
    told: Told,
) -> Computed:
    """The vectors of occurrences in every layer, and what they are.

    Args:
        indexes: One or two.
        corpora: (n,) which of them each occurrence is from.
        numbers: (n,) its number there.
        static: Vectors of words beside those of the model.
        told: Is told how far it is.
    """
    source = indexes[0].embedder
    found = np.zeros((source.layers, len(numbers), source.dim), dtype=np.float32)
    words, documents, labels = ([""] * len(numbers) for _ in range(3))
    done = 0
    sentences = _sentences(indexes, corpora, numbers)
    for one, rows in source.stream_with(sentences, lambda one: one.sentence, layers="all"):
        found[:, one.rows] = rows[:, one.positions]
        for row, position in zip(one.rows, one.positions, strict=True):
            words[row] = one.sentence[position]
            documents[row] = one.place.document or one.place.file or ""
            labels[row] = one.place.label or ""
        done += len(one.rows)
        told(done)
    result = {str(number): unit(layer) for number, layer in enumerate(found)}
    if source.layers > 1:
        result[MEAN] = unit(found.mean(axis=0))
    if static is not None:
        result[STATIC] = unit(static.embed([words], layers="top")[0])
    return Computed(result, words, documents, labels)


def _sentences(indexes: Sequence[OccurrenceIndex], corpora: Numbers, numbers: Numbers) -> Iterator[_Together]:
    """The sentences of occurrences, each once if its occurrences stand together."""

    def read() -> Iterator[tuple[int, Occurrence]]:
        for row in np.lexsort((numbers, corpora)).tolist():
            yield row, indexes[int(corpora[row])].numbered.one(int(numbers[row]))

    for _, group in groupby(read(), key=lambda pair: (int(corpora[pair[0]]), pair[1].place, pair[1].sentence)):
        some = list(group)
        yield _Together(
            [row for row, _ in some], some[0][1].sentence, [one.position for _, one in some], some[0][1].place
        )

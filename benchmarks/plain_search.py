"""The exact result of a search over all occurrences, by plain products of float32 vectors."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from polyseme import Embedder
from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice
from polyseme.index.choices import Words
from polyseme.index.occurrence import Occurrence
from polyseme.index.vectors import unit

K = 10
BLOCK = 1 << 16  # rows that are compared at once
TIE = 1e-5
"""How much vectors of the same sentence may differ between batches; two copies of a sentence are equally near."""


class Query(NamedTuple):
    """A word in a sentence that is not in the index."""

    sentence: list[str]
    position: int


class Known(Embedder):
    """An embedder that returns stored vectors, so that everything else can be timed.

    Args:
        like: The embedder that computed the vectors.
        sentences: The sentences whose vectors are stored.
        rows: (tokens, D) the vectors of all tokens, one sentence after the other.
    """

    def __init__(self, like: Embedder, sentences: Iterable[Sequence[str]], rows: Vectors) -> None:
        super().__init__(like.model, precision=like.precision)
        self.rows = rows
        self._starts: dict[tuple[str, ...], int] = {}
        start = 0
        for sentence in sentences:
            self._starts[tuple(sentence)] = start
            start += len(sentence)

    def row(self, sentence: Sequence[str], position: int) -> int:
        """The row of the vector of a word."""
        return self._starts[tuple(sentence)] + position

    def stream(self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        """The stored vectors of sentences, whatever the layers."""
        for sentence in sentences:
            start = self.row(sentence, 0)
            yield self.rows[start : start + len(sentence)]


class Truth:
    """The true similarities of the ten nearest occurrences of each query.

    Args:
        known: Has the vectors of the sentences.
        sentences: The sentences to search.
        queries: The queries.
        vectors: (queries, D) their unit vectors.
    """

    def __init__(
        self, known: Known, sentences: Sequence[Sequence[str]], queries: Sequence[Query], vectors: Vectors
    ) -> None:
        self._known, self._vectors = known, vectors
        best = np.full((len(queries), K), -np.inf, dtype=np.float32)
        for start in range(0, len(known.rows), BLOCK):
            near = vectors @ unit(known.rows[start : start + BLOCK]).T  # (Q, BLOCK)
            best = _best(np.concatenate([best, near], axis=1))
        ids: dict[str, int] = {}
        words = np.array([ids.setdefault(token.casefold(), len(ids)) for tokens in sentences for token in tokens])
        same = []
        for query, vector in zip(queries, vectors, strict=True):
            places = np.flatnonzero(words == ids.get(query.sentence[query.position].casefold(), -1))
            same.append(_best(unit(known.rows[places]) @ vector))
        self._nearest: dict[Words, list[Vectors]] = {"any": list(best), "same": same}

    def recall(self, words: Words, answers: Sequence[Sequence[Occurrence]]) -> float:
        """The share of the ten nearest that was found, over the queries that have any."""
        shares = []
        for vector, nearest, answer in zip(self._vectors, self._nearest[words], answers, strict=True):
            if len(nearest):
                rows = self._known.rows[[self._known.row(one.sentence, one.position) for one in answer]]
                shares.append((unit(rows) @ vector >= nearest.min() - TIE).sum() / len(nearest))
        return float(np.mean(shares))


def _best(similarities: Vectors) -> Vectors:
    """The ten greatest along the last axis, or all if there are fewer."""
    k = min(K, similarities.shape[-1])
    return np.partition(similarities, -k, axis=-1)[..., -k:] if k else similarities

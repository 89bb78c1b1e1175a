"""Where do vectors stand in a plane? t-SNE over a sample, layer after layer, and the rest placed beside it."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Protocol

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import MissingPart

_DIMENSIONS = 50  # principal components that neighbours are found in
_PERPLEXITY = 30.0
_EARLY, _LATE = 150, 350  # steps with and without exaggeration
_EXAGGERATION = 12.0
_EVERY = 10  # steps between two reports
_FEW = 16  # distinct vectors up to which principal components will do
_SMALL = 1e-4  # the spread at which an arrangement begins, as openTSNE's own beginnings have it
_SEED = 1

Told = Callable[[float], None]
"""Is given the share of the work that is done."""


class _Arrangement(Protocol):
    """What openTSNE makes of points."""

    def __array__(self) -> Vectors: ...

    def __len__(self) -> int: ...

    def transform(self, points: Vectors, *, perplexity: float) -> Vectors: ...


class LayerLayout:
    """A plane for the vectors of one layer.

    Vectors that are the same (a word has one in layer 0, and one in static vectors) are arranged as one.

    Args:
        vectors: (S, D) of the sample; rows of zeros have no place.
        near: (S, 2) where the same occurrences are in another layer, so that the two can be compared; or None.
        told: Is told how far it is.
        threads: To compute with.

    Attributes:
        places: (S, 2) where each of the sample is; nan without a place.
        repeats: Whether vectors are repeated.
    """

    def __init__(self, vectors: Vectors, near: Vectors | None, told: Told, *, threads: int) -> None:
        has = vectors.any(axis=1)
        distinct, inverse = _distinct(vectors[has])
        self.repeats = len(distinct) < 0.9 * len(inverse)
        if not self.repeats:
            distinct, inverse = vectors[has], np.arange(int(has.sum()))
        self._centre = distinct.mean(axis=0) if len(distinct) else np.zeros(vectors.shape[1], np.float32)
        self._axes = _principal_axes(distinct - self._centre)
        reduced = (distinct - self._centre) @ self._axes
        begin = reduced[:, :2] if near is None else _averages(near[has], inverse, len(distinct))
        self._embedding: _Arrangement | None = None
        placed = begin
        if len(distinct) > _FEW:
            self._embedding = _arrange(reduced, begin, told, threads)
            placed = np.asarray(self._embedding, dtype=np.float64)
        self._turn = np.eye(2) if near is None else _rotation(placed, begin)
        placed = (placed @ self._turn).astype(np.float32)
        self._distinct, self._placed = reduced, placed
        self._known = {row.tobytes(): number for number, row in enumerate(distinct)} if self.repeats else {}
        self.places = np.full((len(vectors), 2), np.nan, dtype=np.float32)
        self.places[has] = placed[inverse]

    def place(self, vectors: Vectors) -> Vectors:
        """Where other vectors (n, D) belong, (n, 2): those with the same vector stand together."""
        result = np.full((len(vectors), 2), np.nan, dtype=np.float32)
        has = vectors.any(axis=1)
        if not has.any():
            return result
        distinct, inverse = _distinct(vectors[has]) if self.repeats else (vectors[has], np.arange(int(has.sum())))
        known = np.array(
            [self._known.get(row.tobytes(), -1) for row in distinct] if self.repeats else [-1] * len(distinct)
        )
        placed = self._placed[known]
        if (known < 0).any():
            placed[known < 0] = self._beside((distinct[known < 0] - self._centre) @ self._axes)
        result[has] = placed[inverse]
        return result

    def _beside(self, reduced: Vectors) -> Vectors:
        """Where vectors belong that are not among the sample."""
        if self._embedding is None:  # with the nearest of the few
            far = np.linalg.norm(reduced[:, None] - self._distinct[None], axis=2)
            nearest: Vectors = self._placed[far.argmin(axis=1)]
            return nearest
        placed = np.asarray(self._embedding.transform(reduced, perplexity=min(5, len(self._embedding) - 1)))
        turned: Vectors = (placed @ self._turn).astype(np.float32)
        return turned


def spread(places: Vectors) -> Vectors:
    """Move points (P, 2) that stand in one place apart, like the seeds of a sunflower."""
    result = places.copy()
    known = np.flatnonzero(~np.isnan(places[:, 0]))
    _, inverse, counts = np.unique(places[known], axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(order)) - starts[inverse.ravel()[order]]
    width = float(np.ptp(places[known], axis=0).max()) if len(known) else 0.0
    radius, angle = np.sqrt(rank) * (width or 1.0) / 1200, rank * math.pi * (3 - math.sqrt(5))
    result[known[order]] += np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
    return result


def fit_square(places: Vectors) -> Vectors:
    """Points (P, 2) in the square from -1 to 1, without a change of their shape."""
    known = places[~np.isnan(places[:, 0])]
    if not len(known):
        return places
    low, high = known.min(axis=0), known.max(axis=0)
    half = float((high - low).max()) / 2
    fitted: Vectors = ((places - (low + high) / 2) / (half or 1.0)).astype(np.float32)
    return np.clip(fitted, -1.0, 1.0)


def tsne() -> ModuleType:
    """The library openTSNE.

    Raises:
        MissingPart: It is not installed.
    """
    try:
        import openTSNE as library  # noqa: N813 - its own name
    except ImportError as error:
        raise MissingPart("maps need openTSNE; run: pip install 'polyseme[explore]'") from error
    found: ModuleType = library
    return found


def _arrange(points: Vectors, begin: Vectors, told: Told, threads: int) -> "_Arrangement":
    """The t-SNE of points, begun with an arrangement (n, 2)."""
    library = tsne()
    method = "fft" if len(points) > 1500 else "bh"
    perplexity = min(_PERPLEXITY, (len(points) - 1) / 3)
    affinities = library.affinity.PerplexityBasedNN(points, perplexity, n_jobs=threads, random_state=_SEED)
    start = (begin - begin.mean(axis=0)) / max(float(begin.std()), 1e-12) * _SMALL
    # Points that begin in one place would stay there.
    start = start + np.random.default_rng(_SEED).normal(scale=_SMALL / 100, size=start.shape)
    embedding = library.TSNEEmbedding(
        start, affinities, negative_gradient_method=method, n_jobs=threads, random_state=_SEED
    )
    steps = 0

    def report(*_: object) -> None:
        nonlocal steps
        steps += _EVERY
        told(min(1.0, steps / (_EARLY + _LATE)))

    watched = {"callbacks": report, "callbacks_every_iters": _EVERY}
    embedding.optimize(_EARLY, exaggeration=_EXAGGERATION, momentum=0.5, inplace=True, **watched)
    embedding.optimize(_LATE, exaggeration=1.0, momentum=0.8, inplace=True, **watched)
    arranged: _Arrangement = embedding
    return arranged


def _distinct(vectors: Vectors) -> tuple[Vectors, Numbers]:
    """The distinct rows, and which of them each row is."""
    rows = np.ascontiguousarray(vectors)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], inverse.astype(np.int64)


def _principal_axes(centred: Vectors) -> Vectors:
    """(D, d) the directions of the greatest spread, at least two."""
    _, directions = np.linalg.eigh(centred.T @ centred)  # from the least to the greatest
    return np.ascontiguousarray(directions[:, ::-1][:, : max(2, min(_DIMENSIONS, centred.shape[1]))])


def _averages(places: Vectors, groups: Numbers, count: int) -> Vectors:
    """(count, 2) the average place of each group; that of all where none is known."""
    known = ~np.isnan(places[:, 0])
    sums, sizes = np.zeros((count, 2)), np.bincount(groups[known], minlength=count)
    np.add.at(sums, groups[known], places[known])
    middle = places[known].mean(axis=0) if known.any() else np.zeros(2)
    averages: Vectors = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], middle)
    return averages


def _rotation(places: Vectors, wanted: Vectors) -> Vectors:
    """The rotation or reflection (2, 2) that brings points nearest to others (orthogonal Procrustes)."""
    left, _, right = np.linalg.svd((places - places.mean(axis=0)).T @ (wanted - wanted.mean(axis=0)))
    turn: Vectors = left @ right
    return turn

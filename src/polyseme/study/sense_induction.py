"""Which senses does a word have in a text? Its occurrences in clusters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import InputError, MissingPart
from polyseme.files.whole import JSON
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.vectors import unit
from polyseme.study.typical_words import LabelSource, TypicalWords

MOST_OCCURRENCES = 2_000
MOST_SENSES = 8
LEAST = 10
"""Occurrences that are needed to find senses."""
_LEAST_SHARE = 0.02  # of the occurrences: a smaller cluster is of odd ones out, not a sense
_DIMENSIONS = 50  # in which clusters are looked for
_COUNTED = 500  # occurrences in which senses are counted
_REFERENCES = 10  # random clouds without senses, with which the clusters are compared
_DEVIATIONS = 3  # above the mean of those: what chance hardly reaches
_CENTRAL = 20  # occurrences of a sense whose substitutes label it
_SEED = 1


@dataclass(frozen=True, slots=True)
class Sense:
    """A cluster of occurrences."""

    share: float
    """Of the word's occurrences."""
    occurrences: int
    labels: list[str]
    """Words that could replace the word there and are likelier there than elsewhere, best first."""
    examples: list[Occurrence]
    """The most typical occurrences, with their similarity to the average."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {
            "share": self.share,
            "occurrences": self.occurrences,
            "labels": [*self.labels],
            "examples": [one.to_dict() for one in self.examples],
        }


@dataclass(frozen=True, slots=True)
class Senses:
    """The senses of a word in a text, the most frequent first."""

    word: str
    occurrences: list[Occurrence]
    """Those that were clustered."""
    senses: list[Sense]
    labels: LabelSource
    """Where labels come from: from the model's softmax or, if it has none, from the nearest other words of the text."""
    silhouette: float | None
    """How well the clusters are separated, from -1 to 1; None for a single one."""
    by_chance: float | None
    """What the same number of clusters hardly reaches in random clouds: 3 standard deviations above their mean."""
    points: Vectors
    """The unit vectors (N, D) of the occurrences, whitened if that was asked for."""
    assigned: Numbers
    """(N,) which of the senses each belongs to."""

    def rows(self) -> list[dict[str, JSON]]:
        """Every occurrence with its sense, numbered from 1, and its similarity to the average of that; by sense."""
        averages = [unit(self.points[self.assigned == number].mean(axis=0)) for number in range(len(self.senses))]
        near = [float(row @ averages[sense]) for row, sense in zip(self.points, self.assigned.tolist(), strict=True)]
        order = np.lexsort((-np.array(near), self.assigned)).tolist()
        found = [self.occurrences[row]._replace(similarity=near[row]) for row in order]
        return [{"sense": int(self.assigned[row]) + 1, **one.to_dict()} for row, one in zip(order, found, strict=True)]

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it: without the vectors, and of the occurrences the number and the examples."""
        return {
            "word": self.word,
            "occurrences": len(self.occurrences),
            "silhouette": self.silhouette,
            "by_chance": self.by_chance,
            "labels": self.labels,
            "senses": [sense.to_dict() for sense in self.senses],
        }


def induce_senses(
    index: OccurrenceIndex,
    word: str,
    *,
    senses: int | None = None,
    examples: int = 3,
    labels: int = 8,
    whiten: bool = False,
) -> Senses:
    """Cluster the occurrences of a word, in any letter case.

    K-means on the principal components of the unit vectors, always from the same seed, over at most 2,000 occurrences
    spread evenly over the text. The number of senses, from 2 to 8, is that whose silhouette is furthest above what
    normally distributed clouds of the same spread reach with as many clusters; if none is above, there is one sense.

    Args:
        index: Where the occurrences are.
        word: As it is written in the text.
        senses: How many; None to find the number.
        examples: Sentences to give for each sense, none twice.
        labels: Words to label each sense with.
        whiten: Cluster the vectors after the whitening of the index.
    """
    if senses is not None and senses < 1:
        raise InputError(f"senses is {senses}, expected at least 1, or None to find the number")
    occurrences, points = index.occurrences(word, most=MOST_OCCURRENCES)
    least = LEAST if senses is None else senses + 1
    if len(points) < least:
        what = "are needed to tell senses apart" if senses is None else "are needed for as many senses"
        raise InputError(
            f"{index.name}: {word!r} occurs only {len(points)} times in it, at least {least} {what}; index more text"
        )
    points = index.whitening(points) if whiten else points
    assigned, silhouette, by_chance = cluster(points, senses)
    label = TypicalWords(index, [word], count=labels)
    found = [
        _sense(occurrences, points, np.flatnonzero(assigned == number), label, examples)
        for number in range(assigned.max() + 1)
    ]
    return Senses(word, occurrences, found, label.source, silhouette, by_chance, points, assigned)


def _sense(
    occurrences: Sequence[Occurrence], points: Vectors, rows: Numbers, label: TypicalWords, examples: int
) -> Sense:
    """The sense that some rows of the occurrences have."""
    similarity = points[rows] @ unit(points[rows].mean(axis=0))
    central = list(_distinct(occurrences, rows[np.argsort(-similarity, kind="stable")]))
    near = dict(zip(rows.tolist(), similarity.tolist(), strict=True))
    return Sense(
        share=len(rows) / len(points),
        occurrences=len(rows),
        labels=label([occurrences[row] for row in central[:_CENTRAL]]),
        examples=[occurrences[row]._replace(similarity=near[row]) for row in central[:examples]],
    )


def cluster(points: Vectors, senses: int | None = None) -> tuple[Numbers, float | None, float | None]:
    """Cluster unit vectors (N, D).

    Returns:
        The cluster (N,) of each vector, the largest numbered 0; the silhouette of the clusters; and what that hardly
        reaches by chance. The last two are None for a single cluster, which vectors that are all alike form.
    """
    components = _principal(points)
    if senses is None:
        some = np.unique(np.linspace(0, len(points) - 1, min(_COUNTED, len(points))).astype(np.int64))
        senses = _count(components[some])
    if senses == 1 or len(np.unique(components.round(5), axis=0)) < senses:
        return np.zeros(len(points), dtype=np.int64), None, None
    assigned, silhouette = _k_means(components, senses)
    order = np.argsort(-np.bincount(assigned), kind="stable")
    return np.argsort(order)[assigned], silhouette, _by_chance(components, senses)


def _count(points: Vectors) -> int:
    """The number of clusters that is clearly better than chance; 1 if none is."""
    best, senses = 0.0, 1
    distinct = len(np.unique(points.round(5), axis=0))
    for count in range(2, min(MOST_SENSES, distinct) + 1):
        assigned, silhouette = _k_means(points, count)
        if np.bincount(assigned).min() < max(2, _LEAST_SHARE * len(points)):
            continue
        margin = silhouette - _by_chance(points, count)
        if margin > best:
            best, senses = margin, count
    return senses


def _by_chance(points: Vectors, count: int) -> float:
    """The silhouette that this many clusters hardly reach in normally distributed points of the same spread."""
    draw = np.random.default_rng(_SEED)
    spread = points.std(axis=0)
    reached = [_k_means(draw.standard_normal(points.shape) * spread, count)[1] for _ in range(_REFERENCES)]
    return float(np.mean(reached) + _DEVIATIONS * np.std(reached, ddof=1))


def _distinct(occurrences: Sequence[Occurrence], rows: Numbers) -> Iterator[int]:
    """Rows in their order, without those whose sentence came before."""
    seen: set[tuple[str, ...]] = set()
    for row in rows.tolist():
        sentence = tuple(occurrences[row].sentence)
        if sentence not in seen:
            seen.add(sentence)
            yield row


def _principal(points: Vectors) -> Vectors:
    """The principal components of points (N, D), at most `_DIMENSIONS` of them."""
    centred = points - points.mean(axis=0)
    left, spread, _ = np.linalg.svd(centred, full_matrices=False)
    components: Vectors = (left * spread)[:, :_DIMENSIONS]
    return components


def _k_means(points: Vectors, count: int) -> tuple[Numbers, float]:
    """Clusters and their silhouette."""
    cluster_library, metrics = _sklearn()
    assigned = cluster_library.KMeans(count, n_init=5, random_state=_SEED).fit_predict(points)
    return assigned.astype(np.int64), float(metrics.silhouette_score(points, assigned))


def _sklearn() -> tuple[Any, Any]:
    try:
        from sklearn import cluster as clusters
        from sklearn import metrics
    except ImportError as error:
        raise MissingPart("clustering needs scikit-learn; run: pip install 'polyseme[sklearn]'") from error
    return clusters, metrics

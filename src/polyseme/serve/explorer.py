"""What the explorer page shows: a map of one or two indexes, with labels if there are any."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Numbers
from polyseme.files.whole import JSON
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.study.maps.labels import PointLabels
from polyseme.study.maps.occurrence_map import OccurrenceMap

TYPES = {"uint8": "<u1", "uint32": "<u4", "float32": "<f4"}
"""The number types of the arrays that a page reads, as numpy names them."""


@dataclass(frozen=True)
class Explorer:
    """A map and what is behind it.

    Attributes:
        map: The points.
        indexes: One or two; all share one embedder.
        names: What each index is called.
        labels: Of the points.
    """

    map: OccurrenceMap
    indexes: Sequence[OccurrenceIndex]
    names: Sequence[str]
    labels: PointLabels | None = None

    @cached_property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that is known of each point, by name: (P,), and (P, 2) for layers."""
        made = self.map
        found: dict[str, NDArray[np.generic]] = {
            "corpora": made.corpora,
            "words": made.words,
            "documents": made.documents,
            **{f"layer-{name}": places for name, places in made.layers.items()},
        }
        if self.labels is not None:
            found["labels"] = self.labels.labels
        return found

    def array(self, name: str) -> bytes | None:
        """An array as bytes, little-endian; None if there is none of this name."""
        found = self.arrays.get(name)
        return None if found is None else found.astype(TYPES[found.dtype.name]).tobytes()

    def facts(self) -> dict[str, JSON]:
        """What a page has to know before it reads the arrays."""
        made = self.map
        return {
            "points": len(made),
            "sample": made.sample,
            "layers": [*made.layers],
            "own": made.own,
            "words": [*made.word_names],
            "documents": [*made.document_names],
            "labels": None if self.labels is None else {"title": self.labels.title, "names": [*self.labels.names]},
            "corpora": [
                {"name": name, "occurrences": len(index), "words": len(index.counts)}
                for name, index in zip(self.names, self.indexes, strict=True)
            ],
            "arrays": {name: array.dtype.name for name, array in self.arrays.items()},
        }

    def point_of(self, corpus: int, numbers: Sequence[int | None]) -> list[int | None]:
        """The points of occurrences; None for those that are not on the map."""
        order, ordered = self._by_number[corpus]
        places = np.searchsorted(ordered, [number or 0 for number in numbers])
        found: list[int | None] = []
        for number, place in zip(numbers, places.tolist(), strict=True):
            here = number is not None and place < len(ordered) and ordered[place] == number
            found.append(int(order[place]) if here else None)
        return found

    def occurrences(self, points: Numbers) -> list[Occurrence]:
        """Points in their sentences."""
        made = self.map
        return [self.indexes[int(made.corpora[p])].numbered.one(int(made.numbers[p])) for p in points]

    def to_dicts(self, corpus: int, found: Sequence[Occurrence]) -> list[JSON]:
        """Occurrences of one index as JSON holds them, each with its point."""
        points = self.point_of(corpus, [one.number for one in found])
        return [{**one.to_dict(), "corpus": corpus, "point": point} for one, point in zip(found, points, strict=True)]

    @cached_property
    def _by_number(self) -> list[tuple[Numbers, Numbers]]:
        """For each index, its points in the order of their numbers, and these numbers."""
        parts = []
        for corpus in range(len(self.indexes)):
            points = np.flatnonzero(self.map.corpora == corpus)
            order = points[np.argsort(self.map.numbers[points], kind="stable")]
            parts.append((order, self.map.numbers[order]))
        return parts

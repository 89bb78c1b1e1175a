"""A map: some occurrences of one or two indexes, and where they stand in each layer."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from polyseme.arrays import Numbers, Vectors

STATIC = "static"
"""The name of the layer that is made of static vectors."""
MEAN = "mean"
MOST_POINTS = 1_000_000


class MapSettings(BaseModel):
    """What a map shows; a map is made once for each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    points: Annotated[int, Field(strict=True, ge=1, le=MOST_POINTS)] = 100_000
    """Occurrences on the map, at most."""
    sample: Annotated[int, Field(strict=True, ge=1, le=200_000)] = 20_000
    """Those among them that are arranged; the others are placed beside them."""
    words: tuple[str, ...] = ()
    """Words whose occurrences are all on the map, as far as there is room."""
    static: str | None = None
    """The fingerprint of static vectors that have a layer of their own."""


@dataclass(frozen=True)
class OccurrenceMap:
    """P occurrences; the first S of them are the sample.

    Attributes:
        settings: What it was made with.
        sample: S.
        numbers: (P,) the number of each occurrence in its index.
        corpora: (P,) which index it is from: 0 or 1.
        words: (P,) positions in ``word_names``.
        documents: (P,) positions in ``document_names``; the empty name is of those that are not known.
        labels: (P,) positions in ``label_names``, likewise; what the texts were labelled with when they were indexed.
        layers: Where each is, (P, 2), between -1 and 1, by the name of the layer; undefined (nan) for a word that
            static vectors do not have.
        own: The layer that the index holds.
    """

    settings: MapSettings
    sample: int
    numbers: Numbers
    corpora: NDArray[np.uint8]
    words: NDArray[np.uint32]
    word_names: list[str]
    documents: NDArray[np.uint32]
    document_names: list[str]
    labels: NDArray[np.uint32]
    label_names: list[str]
    layers: dict[str, Vectors]
    own: str

    def __len__(self) -> int:
        return len(self.numbers)


def numbered_names(names: list[str]) -> tuple[NDArray[np.uint32], list[str]]:
    """Names as positions in a list of the distinct ones, the most frequent first."""
    distinct, inverse, counts = np.unique(np.array(names, dtype=object), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    return rank[inverse], [str(distinct[place]) for place in order]

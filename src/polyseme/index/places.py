"""Where the sentences of a shard came from: two optional files, which indexes made before have not.

``places.npy`` is (S, 4): for each sentence the numbers of its file, line, document and name. Lines count from 1; the
other three are positions in ``names.json``. -1 stands for what is not known.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyseme.files.whole import JSON
from polyseme.text.corpus import Sentence

UNKNOWN = -1
_TEXTS = (0, 2, 3)
"""The columns that are positions in ``names.json``."""


class Place(NamedTuple):
    """Where a sentence came from; None is what the source does not say."""

    file: str | None = None
    line: int | None = None
    """From 1."""
    document: str | None = None
    name: str | None = None
    """What the source calls the sentence."""
    label: str | None = None
    """What the user called the text when it was indexed."""

    @classmethod
    def of(cls, sentence: Sentence, label: str | None = None) -> "Place":
        """The place of a sentence as it was read."""
        return cls(sentence.file, sentence.line, sentence.document, sentence.name, label)

    @property
    def source(self) -> str | None:
        """The document, or the file if the source names no document."""
        return self.file if self.document is None else self.document

    def __str__(self) -> str:
        where = self.file or ""
        if self.file is not None and self.line is not None:
            where += f":{self.line}"
        about = [text for text in dict.fromkeys((self.document, self.name)) if text]
        return " ".join([where, *about]).strip()

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return self._asdict()


class PlaceTable:
    """Gathers the places of sentences as numbers."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int]] = []

    def add(self, place: Place) -> None:
        """Take in the place of the next sentence."""
        line = UNKNOWN if place.line is None else place.line
        self._rows.append((self._number(place.file), line, self._number(place.document), self._number(place.name)))

    @property
    def known(self) -> bool:
        """Whether anything is known about any of the sentences."""
        return any(row != (UNKNOWN,) * 4 for row in self._rows)

    def rows(self) -> NDArray[np.int32]:
        """(S, 4) file, line, document and name of each sentence."""
        return np.array(self._rows, dtype=np.int32).reshape(-1, 4)

    @classmethod
    def restored(cls, rows: NDArray[np.int32], names: list[str]) -> "PlaceTable":
        """The table with these rows and names."""
        if not places_fit(rows, names):
            raise ValueError("the places of the sentences name what is not there")
        table = cls()
        table.names = {name: number for number, name in enumerate(names)}
        table._rows = [(int(a), int(b), int(c), int(d)) for a, b, c, d in rows.tolist()]
        return table

    def _number(self, text: str | None) -> int:
        return UNKNOWN if text is None else self.names.setdefault(text, len(self.names))


def places_fit(rows: NDArray[np.int32], names: list[str]) -> bool:
    """Whether all numbers of the rows (S, 4) are lines, or positions in the names."""
    return bool(rows.min(initial=0) >= UNKNOWN and (rows[:, _TEXTS].max(initial=UNKNOWN) < len(names)))


def place_at(row: NDArray[np.int32], names: list[str], label: str | None) -> Place:
    """The place that a row (4,) names, in a text with this label."""
    file, line, document, name = (int(value) for value in row)
    texts = [None if number == UNKNOWN else names[number] for number in (file, document, name)]
    return Place(texts[0], None if line == UNKNOWN else line, texts[1], texts[2], label)

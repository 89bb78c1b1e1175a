"""What a search in an index finds."""

from typing import NamedTuple

from polyseme.files.whole import JSON
from polyseme.index.places import Place


class Occurrence(NamedTuple):
    """A word in its sentence."""

    word: str
    similarity: float
    sentence: list[str]
    position: int
    place: Place = Place()
    """Where the sentence came from."""
    number: int | None = None
    """Which of the occurrences of the index it is, from 0; not part of what leaves the program."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {
            "word": self.word,
            "similarity": self.similarity,
            "sentence": [*self.sentence],
            "position": self.position,
            **self.place.to_dict(),
        }


class SimilarWord(NamedTuple):
    """A word whose contexts are like those of another."""

    word: str
    similarity: float
    occurrences: int

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {"word": self.word, "similarity": self.similarity, "occurrences": self.occurrences}

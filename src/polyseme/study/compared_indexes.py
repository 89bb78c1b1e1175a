"""Two indexes as the two texts of a study of change."""

from collections.abc import Collection
from pathlib import Path

from polyseme.errors import InputError
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.study.change_measures import Change, Usage, compare
from polyseme.study.compared import Compared, Occurrences, folded


class ComparedIndexes(Compared):
    """Two indexes, compared over all occurrences that are in them.

    Args:
        old: An index: a folder, or the address of a database.
        new: Another, built with the same model and layers.
    """

    when_cut = "when the texts are indexed"

    def __init__(self, old: str | Path, new: str | Path) -> None:
        self._indexes = OccurrenceIndex(old), OccurrenceIndex(new)
        for name, value in self._indexes[0].made_with.items():
            if value != (other := self._indexes[1].made_with[name]):
                one, two = (index.name for index in self._indexes)
                raise InputError(
                    f"{one} was built with {name} {value!r}, {two} with {other!r}; their vectors cannot be compared, "
                    "build both alike"
                )
        self.model = self._indexes[0].model
        self.segmentation = self._indexes[0].segmentation
        self.counts = folded(self._indexes[0].counts), folded(self._indexes[1].counts)

    def changes(self, words: Collection[str] = (), *, least: int = 10, keep: Collection[str] = ()) -> list[Change]:
        """How much words have changed; see `Compared`."""
        chosen = self.choose(words, least)
        usages = (Usage(), Usage())
        for usage, index in zip(usages, self._indexes, strict=True):
            for word, count, total in index.word_sums():
                if word.casefold() in chosen:
                    usage.add(word, total, count)
        return compare(*usages)

    def occurrences(self, words: Collection[str], *, most: int) -> dict[str, tuple[Occurrences, Occurrences]]:
        """The occurrences of words in both indexes; see `Compared`."""
        old, new = self._indexes
        return {word: (old.occurrences(word, most=most), new.occurrences(word, most=most)) for word in words}

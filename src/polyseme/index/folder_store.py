"""An index in a folder: shards of plain files, searched one after the other with faiss."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.index.manifest import read_manifest
from polyseme.index.occurrence import Occurrence
from polyseme.index.shard import Shard
from polyseme.index.store import Choice, Store
from polyseme.index.stored_whitening import open_whitening, search_whitened
from polyseme.index.vectors import merge
from polyseme.index.whitening import Whitening


class FolderStore(Store):
    """A folder that `polyseme index` wrote.

    Args:
        folder: Where it is.
        verify: Read every file once and compare it with its checksum.

    Raises:
        InputError: There is no index.
        FormatError: A file of the index is missing or damaged.
    """

    def __init__(self, folder: Path, *, verify: bool) -> None:
        self.folder, self.name = folder, str(folder)
        self.about = self._manifest = manifest = read_manifest(folder)
        self._shards = [Shard(folder / one.name, one, manifest.dim, verify=verify) for one in manifest.shards]
        self._starts: Numbers = np.cumsum([0, *(shard.count for shard in self._shards)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def parts(self) -> str:
        """How many shards it has."""
        return f"{len(self._shards)} shard{'s' * (len(self._shards) > 1)}"

    def counts(self) -> Counter[str]:
        """How often each word is in it."""
        total: Counter[str] = Counter()
        for shard in self._shards:
            total.update(shard.counts)
        return total

    def word_sums(self) -> Iterator[tuple[str, int, Vectors]]:
        """Each word of each shard with the number of its occurrences and the sum (D,) of their unit vectors."""
        for shard in self._shards:
            yield from zip(shard.words, shard.counts.values(), shard.sums(), strict=True)

    def search(
        self, query: Vectors, k: int, choice: Choice, *, exact: bool, whitening: Whitening | None
    ) -> tuple[Vectors, Numbers]:
        """The occurrences nearest to a unit vector (D,): the best of what each shard finds."""
        search = Shard.search if whitening is None else partial(search_whitened, whitening=whitening)
        parts = []
        for start, shard in self._each():
            if choice.label is not None and shard.label != choice.label:
                continue
            only, but = _chosen(shard, choice)
            similarities, numbers = search(shard, query, k, only=only, but=but, exact=exact)
            parts.append((similarities, numbers + start))
        return merge(parts, k)

    def labels(self) -> list[str]:
        """The labels that texts were indexed with."""
        return list(dict.fromkeys(shard.label for shard in self._shards if shard.label is not None))

    def documents(self) -> list[str]:
        """The documents of its occurrences; or files, where their source names no document."""
        return list(dict.fromkeys(name for shard in self._shards for name in shard.documents()))

    def numbers(self, word: str) -> Numbers:
        """The numbers of a word's occurrences in any letter case, ascending."""
        return np.concatenate([shard.places(word) + start for start, shard in self._each()])

    def words(self, numbers: Numbers) -> list[str]:
        """The word of each of some occurrences."""
        return [shard.word(within) for shard, within in map(self._find, numbers)]

    def vectors(self, numbers: Numbers) -> Vectors:
        """The unit vectors (n, D) of some occurrences, as they are stored."""
        rows = np.empty((len(numbers), self.about.dim), dtype=np.float32)
        holders = np.searchsorted(self._starts, numbers, side="right") - 1
        for holder in np.unique(holders):
            here = holders == holder
            rows[here] = self._shards[holder].vectors(numbers[here] - self._starts[holder])
        return rows

    def read(self, numbers: Numbers, similarities: Vectors) -> list[Occurrence]:
        """Some occurrences in their sentences, each with its similarity."""
        found = []
        for number, similarity in zip(numbers, similarities, strict=True):
            shard, within = self._find(number)
            tokens, position = shard.sentence(within)
            found.append(Occurrence(tokens[position], float(similarity), tokens, position, shard.place(within)))
        return found

    def whitening(self) -> Whitening:
        """The whitening of the index: as it is stored, or fitted now and stored, if the folder can be written."""
        return open_whitening(self.folder, self._manifest, self)

    def _each(self) -> Iterator[tuple[int, Shard]]:
        """The number of each shard's first occurrence, and the shard."""
        return zip(self._starts[:-1].tolist(), self._shards, strict=True)

    def _find(self, number: np.int64) -> tuple[Shard, int]:
        """The shard of an occurrence, and its number there."""
        holder = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._shards[holder], int(number - self._starts[holder])


def _chosen(shard: Shard, choice: Choice) -> tuple[Numbers | None, Numbers | None]:
    """Numbers of the occurrences of a shard that count, or None for all; and of those that do not, or None."""
    but = _of_words(shard, choice.but) if choice.but else None
    only = None if choice.words is None else _of_words(shard, choice.words)
    if choice.document is not None:
        there = shard.of_document(choice.document)
        only = there if only is None else np.intersect1d(only, there)
    return (only, but) if only is None or but is None else (np.setdiff1d(only, but), None)


def _of_words(shard: Shard, words: frozenset[str]) -> Numbers:
    return np.sort(np.concatenate([np.zeros(0, np.int64), *map(shard.places, words)]))

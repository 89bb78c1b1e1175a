"""A shard as it is read: some sentences, the chosen occurrences in them, and their vectors; a folder of plain files."""

import json
import tokenize
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import FormatError
from polyseme.files.checksum import crc32
from polyseme.files.json_file import LARGEST, read_json
from polyseme.files.whole import reason
from polyseme.index import vectors
from polyseme.index.manifest import (
    CODES,
    DAMAGED,
    NAMES,
    OCCURRENCES,
    PLACES,
    SCALES,
    SENTENCES,
    STARTS,
    SUMS,
    VECTORS,
    WORDS,
    ShardRecord,
)
from polyseme.index.places import UNKNOWN, Place, place_at, places_fit
from polyseme.index.refined import Refined, candidates
from polyseme.index.vectors import FaissIndex

Scalar = TypeVar("Scalar", bound=np.generic)

UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    OverflowError,
    SyntaxError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)
"""What numpy and the JSON reader raise for bytes that are not theirs."""


class Shard:
    """A shard on disk, read as it is needed. Whatever its files hold, a method gives a value or a `FormatError`.

    Args:
        folder: Where it is.
        record: What the manifest says about it.
        dim: The width of the vectors.
        verify: Read every file once and compare it with its checksum.
    """

    def __init__(self, folder: Path, record: ShardRecord, dim: int, *, verify: bool) -> None:
        for name, known in record.files.items():
            path = folder / name
            if not path.is_file():
                raise FormatError(f"{path}: missing; the index is incomplete, build it again")
            if (size := path.stat().st_size) != known.size:
                raise FormatError(f"{path}: {size:,} bytes where {known.size:,} were written; {DAMAGED}")
            if verify and crc32(path) != known.crc32:
                raise FormatError(f"{path}: its bytes have changed since it was written; {DAMAGED}")
        self._folder, self._record, self._dim = folder, record, dim
        self.count, self.label = record.occurrences, record.label

    @cached_property
    def words(self) -> list[str]:
        """The distinct words."""
        return self._strings(WORDS)

    @cached_property
    def counts(self) -> Counter[str]:
        """Occurrences of each word."""
        counted = np.bincount(self._occurrences[:, 2], minlength=len(self.words)).tolist()
        return Counter(dict(zip(self.words, counted, strict=True)))

    def sums(self) -> Vectors:
        """The sum of each word's unit vectors, (W, D)."""
        sums = self._array(SUMS, np.float32, (len(self.words), self._dim))
        most = 1.01 * self.count  # no component of a unit vector is above 1
        if not -most <= sums.min() <= sums.max() <= most:  # nor undefined
            raise FormatError(f"{self._folder / SUMS}: not sums of {self.count:,} unit vectors; {DAMAGED}")
        return sums

    def places(self, word: str) -> Numbers:
        """The numbers of a word's occurrences, in any letter case."""
        order, starts = self._by_word
        found = [order[starts[number] : starts[number + 1]] for number in self._folded.get(word.casefold(), ())]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))

    def word(self, occurrence: int) -> str:
        """The word of an occurrence."""
        return self.words[int(self._occurrences[occurrence, 2])]

    def word_numbers(self, numbers: Numbers) -> Numbers:
        """Which of the distinct words some occurrences are of."""
        words: Numbers = self._occurrences[numbers, 2].astype(np.int64)
        return words

    def sentence(self, occurrence: int) -> tuple[list[str], int]:
        """The sentence of an occurrence, and the position in it."""
        number, position, _ = (int(value) for value in self._occurrences[occurrence])
        start, stop = (int(value) for value in self._starts[number : number + 2])
        path = self._folder / SENTENCES
        try:
            with path.open("rb") as file:
                file.seek(start)
                tokens = json.loads(file.read(stop - start))
        except UNREADABLE as error:
            raise FormatError(f"{path}: sentence {number} cannot be read ({reason(error)}); {DAMAGED}") from error
        if not _are_tokens(tokens) or position >= len(tokens):
            raise FormatError(f"{path}: sentence {number} is not a list of more than {position} tokens; {DAMAGED}")
        return tokens, position

    def place(self, occurrence: int) -> Place:
        """Where the sentence of an occurrence came from; nothing is known of it in an older index."""
        if PLACES not in self._record.files:
            return Place(label=self.label)
        rows, names = self._places
        return place_at(rows[int(self._occurrences[occurrence, 0])], names, self.label)

    def of_document(self, name: str) -> Numbers:
        """The numbers of the occurrences in a document; or in a file, where its source names no document."""
        if PLACES not in self._record.files or name not in self._places[1]:
            return np.zeros(0, np.int64)
        there = self._document_numbers() == self._places[1].index(name)  # (S,)
        return np.flatnonzero(there[self._occurrences[:, 0]])

    def documents(self) -> list[str]:
        """The documents of the occurrences; or files, where their source names no document."""
        if PLACES not in self._record.files:
            return []
        numbers = np.unique(self._document_numbers()[self._occurrences[:, 0]])
        return [self._places[1][number] for number in numbers[numbers != UNKNOWN].tolist()]

    def _document_numbers(self) -> NDArray[np.int32]:
        """The number (S,) of each sentence's document, or file."""
        rows = self._places[0]
        return np.where(rows[:, 2] == UNKNOWN, rows[:, 0], rows[:, 2])

    def vectors(self, numbers: Numbers) -> Vectors:
        """The unit vectors (n, D) of some occurrences, as they are stored."""
        if self._refined is not None:
            return self._refined.rows(numbers)
        try:
            return vectors.stored(self._index, numbers)
        except RuntimeError as error:  # a vector that should be there is not
            raise self._broken_vectors(error) from error

    def search(
        self, query: Vectors, k: int, *, only: Numbers | None, but: Numbers | None, exact: bool
    ) -> tuple[Vectors, Numbers]:
        """The occurrences nearest to a unit vector (D,); see `polyseme.index.vectors.search`."""
        refined = self._refined
        if refined is not None and only is not None and len(only) <= vectors.FEW:
            return refined.nearest(query, k, only)
        wanted = k if refined is None else candidates(k)
        try:
            similarities, numbers = vectors.search(self._index, query, wanted, only=only, but=but, exact=exact)
        except RuntimeError as error:
            raise self._broken_vectors(error) from error
        if numbers.max(initial=0) >= self.count:
            raise self._broken_vectors(f"it holds number {numbers.max()} of {self.count}")
        return (similarities, numbers) if refined is None else refined.nearest(query, k, numbers)

    @cached_property
    def _index(self) -> FaissIndex:
        return vectors.read(self._folder / VECTORS, count=self.count, dim=self._dim, advice=DAMAGED)

    @cached_property
    def _refined(self) -> Refined | None:
        """The vectors that those found are compared with once more, if there are any."""
        if CODES not in self._record.files:
            return None
        codes = self._array(CODES, np.int8, (self.count, self._dim))
        scales = self._array(SCALES, np.float32, (self.count,))
        if not 0 <= scales.min() <= scales.max() <= 0.01:  # no number of a unit vector is above 1
            raise FormatError(f"{self._folder / SCALES}: not the scales of {self.count:,} unit vectors; {DAMAGED}")
        return Refined(codes, scales)

    @cached_property
    def _occurrences(self) -> NDArray[np.int32]:
        """(N, 3) sentence, position and word of each occurrence."""
        found = self._array(OCCURRENCES, np.int32, (self.count, 3))
        beyond = [self._record.sentences, np.iinfo(np.int32).max, len(self.words)]
        if found.min() < 0 or (found.max(axis=0) >= beyond).any():
            raise FormatError(f"{self._folder / OCCURRENCES}: names a sentence or a word that is not there; {DAMAGED}")
        return found

    @cached_property
    def _starts(self) -> Numbers:
        """The byte at which each sentence begins, and at which the last one ends."""
        starts = self._array(STARTS, np.int64, (self._record.sentences + 1,))
        if starts[0] or starts[-1] != self._record.files[SENTENCES].size or (np.diff(starts) <= 0).any():
            raise FormatError(f"{self._folder / STARTS}: not the places of the sentences; {DAMAGED}")
        return starts

    @cached_property
    def _places(self) -> tuple[NDArray[np.int32], list[str]]:
        """(S, 4) numbers of file, line, document and name, and what they are numbers of."""
        rows, names = self._array(PLACES, np.int32, (self._record.sentences, 4)), self._strings(NAMES)
        if not places_fit(rows, names):
            raise FormatError(f"{self._folder / PLACES}: names what is not in {NAMES}; {DAMAGED}")
        return rows, names

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        """The numbers of the words that are the same without letter case."""
        folded: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            folded.setdefault(word.casefold(), []).append(number)
        return folded

    @cached_property
    def _by_word(self) -> tuple[Numbers, Numbers]:
        """Occurrences sorted by word, and where (W + 1) the occurrences of each word begin."""
        words = self._occurrences[:, 2]
        counts = np.bincount(words, minlength=len(self.words))
        return np.argsort(words, kind="stable"), np.concatenate([[0], np.cumsum(counts)])

    def _strings(self, name: str) -> list[str]:
        """A file that is a JSON list of distinct strings."""
        path = self._folder / name
        found = read_json(path, advice=DAMAGED, largest=min(LARGEST, self._record.files[name].size))
        if not _are_tokens(found) or len(set(found)) < len(found):
            raise FormatError(f"{path}: not a list of distinct words; {DAMAGED}")
        return found

    def _array(self, name: str, kind: type[Scalar], shape: tuple[int, ...]) -> NDArray[Scalar]:
        """An array on disk; nothing but an array of this type and shape is opened."""
        path = self._folder / name
        try:
            found = np.lib.format.open_memmap(path, mode="r")
        except UNREADABLE as error:
            raise FormatError(f"{path}: not an array of numpy ({reason(error)}); {DAMAGED}") from error
        if found.dtype != np.dtype(kind) or found.shape != shape:
            raise FormatError(
                f"{path}: {found.dtype} {found.shape} where {np.dtype(kind)} {shape} is expected; {DAMAGED}"
            )
        return found

    def _broken_vectors(self, why: object) -> FormatError:
        return FormatError(f"{self._folder / VECTORS}: cannot be searched ({' '.join(str(why).split())}); {DAMAGED}")


def _are_tokens(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)

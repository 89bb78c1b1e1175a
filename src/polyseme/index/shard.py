"""A shard: some sentences, the chosen occurrences in them, and their vectors; a folder of plain files."""

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import FormatError
from polyseme.index import vectors
from polyseme.index.vectors import Compression, Vectors

ESCAPED = "backslashreplace"  # what is no Unicode becomes an escape of JSON, which reads back as it was

VECTORS, SENTENCES, STARTS, OCCURRENCES, WORDS, SUMS = (
    "vectors.faiss",
    "sentences.jsonl",
    "sentences.npy",
    "occurrences.npy",
    "words.json",
    "sums.npy",
)
"""Vectors; sentences as JSON lists, and where each begins; (N, 3) sentence, position and word of each occurrence; the
words, and the sum (W, D) of each one's unit vectors."""


class ShardWriter:
    """Gathers occurrences in memory and writes them as one shard."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._words: dict[str, int] = {}
        self._sentences: list[bytes] = []
        self._occurrences: list[tuple[int, int, int]] = []
        self._vectors: list[NDArray[np.float16]] = []

    def __len__(self) -> int:
        return len(self._occurrences)

    @property
    def bytes(self) -> int:
        """Memory that the vectors take."""
        return 2 * self._dim * len(self._occurrences)

    def add(self, tokens: Sequence[str], positions: Sequence[int], rows: Vectors) -> None:
        """Take in a sentence with the vectors (len(positions), D) of the occurrences that were chosen in it."""
        if not positions:
            return
        number = len(self._sentences)
        self._sentences.append((json.dumps(list(tokens), ensure_ascii=False) + "\n").encode(errors=ESCAPED))
        for position in positions:
            word = self._words.setdefault(tokens[position], len(self._words))
            self._occurrences.append((number, position, word))
        self._vectors.append(vectors.unit(rows).astype(np.float16))

    def write(self, folder: Path, compression: Compression) -> dict[str, Any]:
        """Write everything into a new folder and say what is there."""
        folder.mkdir()
        matrix = np.concatenate(self._vectors)
        occurrences = np.array(self._occurrences, dtype=np.int32)
        vectors.write(vectors.build(matrix, compression), folder / VECTORS)
        (folder / SENTENCES).write_bytes(b"".join(self._sentences))
        np.save(folder / STARTS, np.cumsum([0, *map(len, self._sentences)], dtype=np.int64))
        np.save(folder / OCCURRENCES, occurrences)
        (folder / WORDS).write_text(json.dumps(list(self._words), ensure_ascii=False), encoding="utf-8", errors=ESCAPED)
        sums = np.zeros((len(self._words), self._dim), dtype=np.float32)
        np.add.at(sums, occurrences[:, 2], matrix)
        np.save(folder / SUMS, sums)
        files = {path.name: [path.stat().st_size, checksum(path)] for path in sorted(folder.iterdir())}
        return {"name": folder.name, "occurrences": len(occurrences), "sentences": len(self._sentences), "files": files}


class Shard:
    """A shard on disk, read as it is needed.

    Args:
        folder: Where it lies.
        facts: What its writer said of it.
        verify: Read every file once and compare it with its checksum.
    """

    def __init__(self, folder: Path, facts: dict[str, Any], *, verify: bool) -> None:
        for name, (size, known) in facts["files"].items():
            path = folder / name
            if not path.is_file():
                raise FormatError(f"{path}: missing; the index is incomplete, build it again")
            if path.stat().st_size != size:
                raise FormatError(
                    f"{path}: {path.stat().st_size:,} bytes where {size:,} were written; the index is damaged, build "
                    "it again"
                )
            if verify and checksum(path) != known:
                raise FormatError(f"{path}: its bytes have changed since it was written; build the index again")
        self._folder = folder
        self.count: int = facts["occurrences"]
        self._starts = np.load(folder / STARTS, mmap_mode="r")
        self.occurrences: NDArray[np.int32] = np.load(folder / OCCURRENCES, mmap_mode="r")

    @cached_property
    def index(self) -> Any:
        """The vectors, in faiss."""
        return vectors.read(self._folder / VECTORS)

    @cached_property
    def words(self) -> list[str]:
        """The distinct words."""
        words: list[str] = json.loads((self._folder / WORDS).read_text(encoding="utf-8"))
        return words

    @cached_property
    def counts(self) -> Counter[str]:
        """Occurrences of each word."""
        counted = np.bincount(self.occurrences[:, 2], minlength=len(self.words)).tolist()
        return Counter(dict(zip(self.words, counted, strict=True)))

    def sums(self) -> Vectors:
        """The sum of each word's unit vectors, (W, D)."""
        sums: Vectors = np.load(self._folder / SUMS, mmap_mode="r")
        return sums

    def places(self, word: str) -> NDArray[np.int64]:
        """The numbers of a word's occurrences, whatever its letter case."""
        order, starts = self._by_word
        found = [order[starts[number] : starts[number + 1]] for number in self._folded.get(word.casefold(), ())]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        """The numbers of the words that are one without letter case."""
        folded: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            folded.setdefault(word.casefold(), []).append(number)
        return folded

    @cached_property
    def _by_word(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Occurrences sorted by word, and where (W + 1) the occurrences of each begin."""
        words = self.occurrences[:, 2]
        counts = np.bincount(words, minlength=len(self.words))
        return np.argsort(words, kind="stable"), np.concatenate([[0], np.cumsum(counts)])

    def word(self, occurrence: int) -> str:
        """The word of an occurrence."""
        word: str = self.words[self.occurrences[occurrence, 2]]
        return word

    def sentence(self, occurrence: int) -> tuple[list[str], int]:
        """The sentence of an occurrence, and the position in it."""
        number, position, _ = (int(value) for value in self.occurrences[occurrence])
        start, stop = (int(value) for value in self._starts[number : number + 2])
        with (self._folder / SENTENCES).open("rb") as file:
            file.seek(start)
            tokens: list[str] = json.loads(file.read(stop - start))
        return tokens, position

    def vectors(self, numbers: NDArray[np.int64]) -> Vectors:
        """The unit vectors (n, D) of some occurrences, as they are stored."""
        return vectors.stored(self.index, numbers)


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return value

"""A shard as it is written: occurrences are gathered in memory and become a folder of plain files."""

import json
import zipfile
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from polyseme.arrays import HalfVectors, Numbers, Vectors
from polyseme.errors import FormatError
from polyseme.files.checksum import crc32
from polyseme.files.plain_zip import check_plain_zip
from polyseme.files.whole import reason, whole_file, whole_folder
from polyseme.index import vectors
from polyseme.index.choices import Compression
from polyseme.index.manifest import (
    CODES,
    NAMES,
    OCCURRENCES,
    PLACES,
    SCALES,
    SENTENCES,
    STARTS,
    SUMS,
    VECTORS,
    WORDS,
    FileRecord,
    ShardRecord,
)
from polyseme.index.places import Place, PlaceTable
from polyseme.index.refined import rounded
from polyseme.index.shard import UNREADABLE

_ESCAPED = "backslashreplace"
"""What is not Unicode becomes an escape of JSON, which reads back as it was."""
_PENDING = ("vectors", "occurrences", "starts", "sentences", "words", "places", "names")
"""The arrays of an unfinished shard."""


class ShardWriter:
    """Gathers occurrences in memory until they are written as one shard.

    Args:
        dim: The width of the vectors.
    """

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._words: dict[str, int] = {}
        self._sentences: list[bytes] = []
        self._occurrences: list[tuple[int, int, int]] = []
        self._vectors: list[HalfVectors] = []
        self._places = PlaceTable()

    def __len__(self) -> int:
        return len(self._occurrences)

    @property
    def vector_bytes(self) -> int:
        """Memory that the vectors take."""
        return 2 * self._dim * len(self._occurrences)

    def add(self, tokens: Sequence[str], positions: Sequence[int], rows: Vectors, place: Place | None = None) -> None:
        """Take in a sentence with the vectors (len(positions), D) of the occurrences that were chosen in it."""
        if not positions:
            return
        number = len(self._sentences)
        self._sentences.append(_as_json(list(tokens)) + b"\n")
        self._places.add(place or Place())
        for position in positions:
            word = self._words.setdefault(tokens[position], len(self._words))
            self._occurrences.append((number, position, word))
        self._vectors.append(vectors.unit(rows).astype(np.float16))

    def write(self, folder: Path, compression: Compression, label: str | None = None) -> ShardRecord:
        """Write everything into a new folder, whole and flushed, and give its record, with the label of the text."""
        with whole_folder(folder) as temporary:
            matrix, occurrences = np.concatenate(self._vectors), np.array(self._occurrences, dtype=np.int32)
            index = vectors.build(matrix, compression)
            vectors.write(index, temporary / VECTORS)
            if vectors.is_coarse(index):
                codes, scales = rounded(matrix)
                np.save(temporary / CODES, codes)
                np.save(temporary / SCALES, scales)
            (temporary / SENTENCES).write_bytes(b"".join(self._sentences))
            np.save(temporary / STARTS, self._starts())
            np.save(temporary / OCCURRENCES, occurrences)
            (temporary / WORDS).write_bytes(_as_json(list(self._words)))
            if self._places.known:
                np.save(temporary / PLACES, self._places.rows())
                (temporary / NAMES).write_bytes(_as_json(list(self._places.names)))
            sums = np.zeros((len(self._words), self._dim), dtype=np.float32)
            np.add.at(sums, occurrences[:, 2], matrix)
            np.save(temporary / SUMS, sums)
            files = {path.name: FileRecord(path.stat().st_size, crc32(path)) for path in sorted(temporary.iterdir())}
        sizes = {"occurrences": len(occurrences), "sentences": len(self._sentences)}
        return ShardRecord(name=folder.name, **sizes, label=label, files=files)

    def save(self, path: Path) -> None:
        """Write what was gathered so far as one file, whole and flushed, for `restore`."""
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                vectors=np.concatenate(self._vectors),
                occurrences=np.array(self._occurrences, dtype=np.int32),
                starts=self._starts(),
                sentences=np.frombuffer(b"".join(self._sentences), dtype=np.uint8),
                words=np.frombuffer(_as_json(list(self._words)), dtype=np.uint8),
                places=self._places.rows(),
                names=np.frombuffer(_as_json(list(self._places.names)), dtype=np.uint8),
            )

    @classmethod
    def restore(cls, path: Path, dim: int, *, advice: str) -> "ShardWriter":
        """What was gathered when `save` was called.

        Raises:
            FormatError: The file is missing or damaged.
        """
        writer = cls(dim)
        try:
            check_plain_zip(path)
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _PENDING}
            words: list[str] = json.loads(arrays["words"].tobytes())
            writer._words = {word: number for number, word in enumerate(words)}
            starts, sentences = arrays["starts"].tolist(), arrays["sentences"].tobytes()
            writer._sentences = [sentences[a:b] for a, b in pairwise(starts)]
            writer._occurrences = [(int(a), int(b), int(c)) for a, b, c in arrays["occurrences"].tolist()]
            writer._vectors = [arrays["vectors"].reshape(len(writer), dim).astype(np.float16)]
            places = arrays["places"].astype(np.int32).reshape(len(writer._sentences), 4)
            writer._places = PlaceTable.restored(places, json.loads(arrays["names"].tobytes()))
            writer._check()
        except (*UNREADABLE, AttributeError, IndexError, zipfile.BadZipFile, zlib.error) as error:
            raise FormatError(f"{path}: cannot be read or is damaged ({reason(error)}); {advice}") from error
        return writer

    def _check(self) -> None:
        """Refuse words that are none, and occurrences of sentences or words that are not there."""
        found = np.array(self._occurrences, dtype=np.int64).reshape(-1, 3)
        if not all(isinstance(word, str) for word in self._words):
            raise ValueError("a word is not a string")
        if (found < 0).any() or (found[:, [0, 2]] >= [len(self._sentences), len(self._words)]).any():
            raise ValueError("it names a sentence or a word that is not there")

    def _starts(self) -> Numbers:
        """The byte at which each sentence begins, and at which the last one ends."""
        return np.cumsum([0, *map(len, self._sentences)], dtype=np.int64)


def _as_json(texts: list[str]) -> bytes:
    return json.dumps(texts, ensure_ascii=False).encode(errors=_ESCAPED)

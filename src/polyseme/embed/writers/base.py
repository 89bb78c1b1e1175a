"""What the writer and the formats tell each other. Shapes: L layers, T tokens, D dim, S sentences."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from polyseme.embed.choices import NUMBER_TYPES
from polyseme.errors import FormatError, InputError
from polyseme.files.whole import reason


@dataclass(frozen=True, slots=True)
class Record:
    """One embedded sentence.

    Attributes:
        tokens: The sentence, T strings.
        vectors: (L, T, D) for all layers, (T, D) for one layer or a mix, or (D,) for one vector per sentence.
        name: What the input calls the sentence: a FASTA identifier, a CoNLL-U `sent_id`.
    """

    tokens: Sequence[str]
    vectors: npt.NDArray[np.floating]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A whole file with the sentences `first` to `stop - 1`."""

    first: int
    stop: int
    path: Path

    @classmethod
    def within(cls, folder: Path, first: int, stop: int, suffix: str) -> "Part":
        """The part of these sentences in a work folder, which need not exist yet."""
        return cls(first, stop, folder / f"part-{first:08}-{stop:08}{suffix}")


def stored_parts(folder: Path, suffix: str) -> list[Part]:
    """The parts in a work folder that follow each other from sentence 0 on.

    A part after a gap is deleted: its sentences are going to be computed again.
    """
    pattern = re.compile(rf"part-(\d{{8,}})-(\d{{8,}}){re.escape(suffix)}")
    matches = (pattern.fullmatch(path.name) for path in folder.iterdir())
    parts: list[Part] = []
    for first, stop in sorted((int(match[1]), int(match[2])) for match in matches if match):
        part = Part.within(folder, first, stop, suffix)
        if first == (parts[-1].stop if parts else 0):
            parts.append(part)
        else:
            part.path.unlink()
    return parts


def check_number_type(dtype: str) -> None:
    """Refuse a number type that files do not hold."""
    if dtype not in NUMBER_TYPES:
        raise InputError(f"unknown dtype {dtype!r}; expected one of {', '.join(NUMBER_TYPES)}")


def converted(vectors: npt.NDArray[np.floating], dtype: str, *, where: str) -> npt.NDArray[np.floating]:
    """A copy of vectors in the number type of a file.

    Raises:
        InputError: A number is too large for it.
    """
    try:
        with np.errstate(over="raise"):
            return np.array(vectors, dtype=dtype, order="C")
    except FloatingPointError:
        largest = np.abs(vectors).max()
        raise InputError(
            f"{where} has the value {largest:g}, {dtype} ends at {np.finfo(dtype).max:g}; write float32"
        ) from None


@contextmanager
def reading(part: Part) -> Iterator[None]:
    """Name a part that turns out to be damaged while it is read.

    Raises:
        FormatError: With the advice to delete it, so that its sentences are computed again.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno:  # the disk, not what is on it
            raise
        raise FormatError(
            f"{part.path}: damaged ({reason(error)}); delete this file and run again with --resume"
        ) from error


class Format(Protocol):
    """A file format. Both methods write a new file at `path`; the caller makes sure that it is whole and flushed."""

    @property
    def single_part_is_whole(self) -> bool:
        """Whether the only part of a run is already the file that `merge` would make of it."""

    def write_part(self, path: Path, first: int, records: Sequence[Record]) -> None:
        """Write some records, at least one, as a file of their own; `first` is the number of the first."""

    def merge(self, path: Path, parts: Sequence[Part]) -> None:
        """Write one file with all parts, which may be none, holding no more than one part in memory."""

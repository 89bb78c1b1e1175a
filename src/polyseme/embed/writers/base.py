"""What the writer and the formats tell each other. Shapes: L layers, T tokens, D dim, S sentences."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from polyseme.embed.choices import NUMBER_TYPES
from polyseme.errors import FormatError, InputError
from polyseme.files.whole import reason
from polyseme.text.readers import Sentence

_AT_ONCE = 512  # buffers in one call; systems allow 1,024 or more


@dataclass(frozen=True, slots=True)
class Record:
    """One embedded sentence.

    Attributes:
        tokens: The sentence, T strings.
        vectors: (L, T, D) for all layers, (T, D) for one layer or a mix, or (D,) for one vector per sentence.
        name: What the input calls the sentence: a FASTA identifier, a CoNLL-U `sent_id`.
        file: The file that it came from.
        line: The line of the file on which it begins, from 1.
        document: What the file calls the document.
    """

    tokens: Sequence[str]
    vectors: npt.NDArray[np.floating]
    name: str | None = None
    file: str | None = None
    line: int | None = None
    document: str | None = None

    @classmethod
    def of(cls, sentence: Sentence, vectors: npt.NDArray[np.floating]) -> Self:
        """A sentence as it was read, with its vectors."""
        return cls(sentence.tokens, vectors, sentence.name, sentence.file, sentence.line, sentence.document)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the growing file: the sentences `first` to `stop - 1`.

    Attributes:
        first: The number of the first sentence.
        stop: The number after that of the last one.
        path: A small file that exists if the stretch is safe on the disk, with what `Format.append` returned.
    """

    first: int
    stop: int
    path: Path


def check_number_type(dtype: str) -> None:
    """Refuse a number type that files do not hold."""
    if dtype not in NUMBER_TYPES:
        raise InputError(f"unknown dtype {dtype!r}; expected one of {', '.join(NUMBER_TYPES)}")


def converted(
    vectors: npt.NDArray[np.floating], dtype: str, *, where: str, copy: bool = True
) -> npt.NDArray[np.floating]:
    """Vectors in the number type of a file: a copy, unless they have it already and `copy` is false.

    Raises:
        InputError: A number is too large for it.
    """
    if not copy and vectors.dtype == dtype and vectors.flags.c_contiguous:
        return vectors
    try:
        with np.errstate(over="raise"):
            return np.array(vectors, dtype=dtype, order="C")
    except FloatingPointError:
        largest = np.abs(vectors).max()
        raise InputError(
            f"{where} has the value {largest:g}, {dtype} ends at {np.finfo(dtype).max:g}; write float32"
        ) from None


Bytes = bytes | bytearray | memoryview | npt.NDArray[np.generic]


def write_all(file: FileIO, buffers: Sequence[Bytes]) -> None:
    """Write buffers one after the other, without copying them first."""
    for start in range(0, len(buffers), _AT_ONCE):
        given = (_view(buffer) for buffer in buffers[start : start + _AT_ONCE])
        views = [view.cast("B") for view in given if view.nbytes]
        written = os.writev(file.fileno(), views)
        for view in views:  # what the system did not take, as it does near the end of a disk
            left = view[written:]
            written = max(0, written - len(view))
            while left:
                left = left[os.write(file.fileno(), left) :]


def _view(buffer: Bytes) -> memoryview:
    return buffer.data if isinstance(buffer, np.ndarray) else memoryview(buffer)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name a file of the work folder that turns out to be damaged while it is read.

    Raises:
        FormatError: With the advice to delete it, so that its sentences are computed again.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno:  # the disk, not what is on it
            raise
        raise FormatError(f"{path}: damaged ({reason(error)}); delete this file and run again with --resume") from error


@dataclass(frozen=True, slots=True)
class Noted:
    """A part as its file describes it.

    Attributes:
        part: The part.
        start: Where it begins in the growing file.
        end: Where it ends there.
        note: What `Format.append` returned.
    """

    part: Part
    start: int
    end: int
    note: bytes


Notes = Callable[[], Iterator[Noted]]
"""All parts in order, read anew with each call."""


class Format(Protocol):
    """A file format that is written from its beginning to its end.

    The same records in the same portions make the same bytes.
    """

    def append(self, file: FileIO, first: int, records: Sequence[Record]) -> bytes:
        """Write some records, at least one, at the end of the file; `first` is the number of the first.

        Returns:
            What `finish` has to know of them.
        """

    def finish(self, file: FileIO, notes: Notes) -> None:
        """Write what makes the file whole, at its end and, if need be, over its first bytes; there may be no parts.

        It may be called again after it was broken off: the file then ends with the last part.
        """

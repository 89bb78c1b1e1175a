"""Vectors that were stored before, read again in the order of their text: a folder of parts, or one Parquet file."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from polyseme.arrays import Vectors
from polyseme.embed.vectors_record import MANIFEST, RECORD, StoredPart, VectorsManifest, VectorsRecord
from polyseme.errors import FormatError, InputError, MissingPart
from polyseme.files.json_file import check_record
from polyseme.files.location import Location
from polyseme.files.whole import reason
from polyseme.text.readers import Sentence

if TYPE_CHECKING:
    import pyarrow as pa

_AGAIN = "embed the text again"
_BATCH_ROWS = 4096
_ORIGIN = ("name", "file", "line", "document")
"""Columns that say where a sentence came from; files of earlier versions lack some."""


@dataclass(frozen=True)
class StoredFile:
    """One Parquet file of vectors.

    Attributes:
        location: Where it is.
        size: Bytes.
        part: Its record, if it is a part of a folder.
    """

    location: Location
    size: int
    part: StoredPart | None


@dataclass(frozen=True)
class Stored:
    """Vectors on disk.

    Attributes:
        shown: What to call them.
        made_with: What they depend on.
        files: The files, in the order of the text.
    """

    shown: str
    made_with: VectorsRecord
    files: tuple[StoredFile, ...]


def open_stored(location: Location) -> Stored:
    """Open a folder of parts or a Parquet file that polyseme wrote.

    Raises:
        InputError: It is neither.
        FormatError: It is damaged.
        MissingPart: pyarrow is not installed.
    """
    size = location.size()
    if size is not None:
        return Stored(location.shown, _file_record(location), (StoredFile(location, size, None),))
    manifest = read_manifest(location)
    files = [StoredFile(location.child(part.name), part.size, part) for part in manifest.parts]
    for file in files:
        if (found := file.location.size()) is None:
            raise FormatError(f"{file.location.shown}: missing, and the manifest names it; {_AGAIN}")
        if found != file.size:
            raise FormatError(f"{file.location.shown}: {found} bytes, and the manifest says {file.size}; {_AGAIN}")
    return Stored(location.shown, manifest.made_with, tuple(files))


def read_manifest(folder: Location) -> VectorsManifest:
    """The manifest of a folder of vectors.

    Raises:
        InputError: The folder has none.
        FormatError: It is damaged.
    """
    location = folder.child(MANIFEST)
    if location.size() is None:
        raise InputError(
            f"{folder.shown}: no complete folder of vectors ({MANIFEST} is missing); write one with "
            "polyseme embed --engine ray"
        )
    try:
        value = json.loads(location.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{location.shown}: damaged ({reason(error)}); {_AGAIN}") from error
    return check_record(value, VectorsManifest, where=location.shown, advice=_AGAIN)


def read_stored(file: StoredFile, columns: list[str]) -> Iterator[tuple[Sentence, list[Vectors]]]:
    """The sentences of a file with their vectors, (T, D) for each of the columns.

    Sentences without tokens have no rows, and are yielded where their numbers are missing.
    """
    part, number = file.part, 0
    for first, sentence, vectors in _by_sentence(file, columns):
        if first < number or (part is not None and first >= part.sentences):
            raise FormatError(f"{file.location.shown}: sentence {first} is where {number} is expected; {_AGAIN}")
        for _ in range(number, first):
            yield Sentence([]), [one[:0] for one in vectors]
        number = first + 1
        yield sentence, vectors
    if part is not None:
        empty = [np.zeros((0, 1), dtype=np.float32) for _ in columns]
        yield from repeat((Sentence([]), empty), part.sentences - number)


def _by_sentence(file: StoredFile, columns: list[str]) -> Iterator[tuple[int, Sentence, list[Vectors]]]:
    """Rows put together that have the same sentence number, also across batches."""
    from pyarrow import ArrowException, Table, concat_tables
    from pyarrow.parquet import ParquetFile

    rest: Table | None = None
    try:
        with file.location.open() as stream, ParquetFile(stream) as parquet:
            known = set(parquet.schema_arrow.names)
            keys = [name for name in ("sentence", "token", *_ORIGIN) if name in known]
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=[*keys, *columns]):
                table = Table.from_batches([batch])
                table = table if rest is None else concat_tables([rest, table]).combine_chunks()
                starts = _starts(table)
                yield from _sentences(table, starts, file, columns)
                rest = table.slice(int(starts[-1])) if len(starts) else None
            if rest is not None:
                yield from _sentences(rest, np.array([0, len(rest)]), file, columns)
    except (ArrowException, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{file.location.shown}: damaged ({reason(error)}); {_AGAIN}") from error


def _starts(table: "pa.Table") -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The rows at which sentences begin; the last one may go on in the next batch."""
    numbers = table["sentence"].to_numpy()
    return np.flatnonzero(np.diff(numbers, prepend=-1)) if len(numbers) else np.zeros(0, dtype=np.int64)


def _sentences(
    table: "pa.Table",
    starts: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    file: StoredFile,
    columns: list[str],
) -> Iterator[tuple[int, Sentence, list[Vectors]]]:
    if len(starts) < 2:
        return
    table = table.slice(0, int(starts[-1]))
    vectors = [_matrix(table[name]) for name in columns]
    numbers, tokens = table["sentence"].to_pylist(), table["token"].to_pylist()
    details = {name: table[name].to_pylist() if name in table.column_names else [None] * len(table) for name in _ORIGIN}
    part = file.part
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        line = details["line"][start]
        if part is not None and line is not None:
            line += part.first_line
        where = details["file"][start] if part is None else part.file
        sentence = Sentence(tokens[start:stop], details["name"][start], where, line, details["document"][start])
        yield numbers[start], sentence, [one[start:stop] for one in vectors]


def _matrix(column: "pa.ChunkedArray") -> Vectors:
    """A column of lists of equal length as (N, D)."""
    lists = column.combine_chunks()
    flat = lists.flatten().to_numpy(zero_copy_only=False)
    return np.array(flat.reshape(len(lists), -1), dtype=np.float32)  # a copy, as the file's memory is read-only


def _file_record(location: Location) -> VectorsRecord:
    """What the metadata of a Parquet file says of its vectors."""
    if not location.name.endswith(".parquet"):
        raise InputError(
            f"{location.shown}: is no .parquet file, and only those say which model made their vectors; embed to "
            ".parquet, or index the text"
        )
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_schema
    except ModuleNotFoundError as error:
        raise MissingPart("reading .parquet needs the package pyarrow; pip install 'polyseme[parquet]'") from error
    try:
        with location.open() as file:
            metadata = read_schema(file).metadata or {}
        value = json.loads(metadata[RECORD]) if RECORD in metadata else None
    except (ArrowException, ValueError, RecursionError) as error:
        raise FormatError(f"{location.shown}: damaged, or no Parquet ({reason(error)}); {_AGAIN}") from error
    if value is None:
        raise InputError(
            f"{location.shown}: does not say which model made its vectors, as those of this version of polyseme do; "
            f"{_AGAIN}"
        )
    return check_record(value, VectorsRecord, where=location.shown, advice=_AGAIN)

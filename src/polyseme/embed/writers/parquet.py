"""Parquet: a table that pandas, polars, DuckDB, Spark and R read. Needs pyarrow.

Vectors for every token: one row per token, with `sentence` and `position` (numbers from 0), `token`, `name`, `file`,
`line` and `document` (null if the input gives none), and `vector`, or for all layers `layer_0`, `layer_1`... One vector
per sentence: one row per sentence, with `sentence`, `name`, `file`, `line`, `document`, `text` (tokens joined by
spaces), `tokens` (their count) and `vector`. Vectors are lists of D numbers::

    table = pyarrow.parquet.read_table("out.parquet")
    table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)

A run without sentences makes a table without rows and without vector columns. The metadata of the file has under the
key ``polyseme`` a `polyseme.embed.vectors_record.VectorsRecord`: what the vectors were made with.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import SEEK_END, FileIO, RawIOBase
from itertools import chain
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from polyseme.embed.writers.base import Notes, Record, reading, write_all
from polyseme.embed.writers.parquet_footer import joined, parsed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ORIGIN = [
    pa.field("name", pa.string()),
    pa.field("file", pa.string()),
    pa.field("line", pa.int64()),
    pa.field("document", pa.string()),
]
_KEYS = [
    pa.field("sentence", pa.int64(), nullable=False),
    pa.field("position", pa.int32(), nullable=False),
    pa.field("token", pa.string(), nullable=False),
    *_ORIGIN,
]
_SENTENCE_KEYS = [
    pa.field("sentence", pa.int64(), nullable=False),
    *_ORIGIN,
    pa.field("text", pa.string(), nullable=False),
    pa.field("tokens", pa.int32(), nullable=False),
]
ROW_GROUP_BYTES = 16 << 20
"""Reading and writing vectors takes several times the memory of a row group."""


class ParquetFormat:
    """Writes Parquet in row groups of about 16 MiB.

    Args:
        metadata: What the vectors were made with, for the metadata of the file.
    """

    def __init__(self, metadata: Mapping[bytes, bytes] | None = None) -> None:
        self._metadata = metadata

    def append(self, file: FileIO, first: int, records: Sequence[Record]) -> bytes:
        """Write row groups; returns a footer that describes them."""
        table = records_table(first, records).replace_schema_metadata(self._metadata)
        with parquet_writer(_Sink(file), table.schema) as writer:
            for rows in in_row_groups(table):
                writer.write_table(rows)
        return _cut_footer(file)

    def finish(self, file: FileIO, notes: Notes) -> None:
        """Write the footers as one."""
        footers = []
        for noted in notes():
            with reading(noted.part.path):
                footers.append((noted.start, parsed(noted.note)))
        if footers:
            write_all(file, [joined(footers)])
        else:
            parquet_writer(file, pa.schema(_KEYS, metadata=self._metadata)).close()


def _cut_footer(file: FileIO) -> bytes:
    """Take the footer from the end of a file: that of the whole file is written last."""
    place = file.seek(-8, SEEK_END)
    place = file.seek(place - int.from_bytes(file.read(4), "little"))
    footer = file.read()[:-8]
    file.truncate(place)
    file.seek(place)
    return footer


class _Sink(RawIOBase):
    """A file that takes nothing more after its first failed write, and reports success for what follows.

    pyarrow ends a file whatever happened before, at the latest when its writer is forgotten: something else may stand
    there by then.
    """

    def __init__(self, file: FileIO) -> None:
        self._file: FileIO | None = file
        self._size = file.tell()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: "ReadableBuffer", /) -> int:
        size = memoryview(data).nbytes
        if self._file is not None:
            file, self._file = self._file, None
            write_all(file, [memoryview(data)])
            self._file = file
        self._size += size
        return size


def records_table(first: int, records: Sequence[Record]) -> pa.Table:
    """A table of some records, at least one; ``first`` is the number of the first."""
    return (_sentence_table if records[0].vectors.ndim == 1 else _token_table)(first, records)


def in_row_groups(table: pa.Table) -> Iterator[pa.Table]:
    """A table in equal slices of about the size of a row group."""
    count = max(1, round(table.nbytes / ROW_GROUP_BYTES))
    rows = max(1, -(-len(table) // count))
    return (table.slice(start, rows) for start in range(0, len(table), rows))


def parquet_writer(file: IO[bytes] | RawIOBase, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of row groups to an open file."""
    # Dictionaries and statistics help to find rows; for vectors they cost time and find nothing, and Snappy finds
    # nothing to save. zstd with split bytes would save 15% of the size of the vectors at half the speed.
    keys = [field.name for field in schema if not pa.types.is_fixed_size_list(field.type)]
    options = {"compression": dict.fromkeys(keys, "snappy"), "use_dictionary": keys, "write_statistics": keys}
    return pq.ParquetWriter(file, schema, **options)


def _token_table(first: int, records: Sequence[Record]) -> pa.Table:
    lengths = np.array([len(record.tokens) for record in records])
    row = np.repeat(np.arange(len(records)), lengths)  # (N,): the record of each of all N tokens
    starts = np.cumsum(lengths) - lengths
    vectors = np.concatenate([record.vectors for record in records], axis=-2)  # (L, N, D) or (N, D)
    keys = {
        "sentence": pa.array(first + row),
        "position": pa.array((np.arange(len(row)) - starts[row]).astype(np.int32)),
        "token": texts(list(chain.from_iterable(record.tokens for record in records))),
        **{name: column.take(pa.array(row)) for name, column in _origin(records).items()},
    }
    if vectors.ndim == 2:
        return _table(_KEYS, keys, {"vector": vectors})
    return _table(_KEYS, keys, {f"layer_{index}": layer for index, layer in enumerate(vectors)})


def _sentence_table(first: int, records: Sequence[Record]) -> pa.Table:
    keys = {
        "sentence": pa.array(np.arange(first, first + len(records))),
        **_origin(records),
        "text": texts([" ".join(record.tokens) for record in records]),
        "tokens": pa.array([len(record.tokens) for record in records], pa.int32()),
    }
    return _table(_SENTENCE_KEYS, keys, {"vector": np.stack([record.vectors for record in records])})


def _origin(records: Sequence[Record]) -> dict[str, pa.Array]:
    """The columns that say where each sentence came from."""
    return {
        "name": texts([record.name for record in records]),
        "file": texts([record.file for record in records]),
        "line": pa.array([record.line for record in records], pa.int64()),
        "document": texts([record.document for record in records]),
    }


def _table(
    fields: Sequence[pa.Field], keys: dict[str, pa.Array], vectors: dict[str, npt.NDArray[np.floating]]
) -> pa.Table:
    """Make a table of key columns and of vector columns, each (N, D)."""
    columns = [keys[field.name] for field in fields]
    fields = list(fields)
    for name, array in vectors.items():
        numbers = pa.field("element", pa.from_numpy_dtype(array.dtype), nullable=False)  # null checks halve the speed
        kind = pa.list_(numbers, array.shape[1])
        fields.append(pa.field(name, kind, nullable=False))
        columns.append(pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), type=kind))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def texts(strings: Sequence[str | None]) -> pa.Array:
    """A column of strings, each of which may be missing."""
    try:
        return pa.array(strings, pa.string())
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON can hold; Parquet cannot
        clean = [None if text is None else text.encode("utf-8", "replace").decode("utf-8") for text in strings]
        return pa.array(clean, pa.string())

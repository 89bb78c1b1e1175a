"""Parquet: a table that pandas, polars, DuckDB, Spark and R read. Needs pyarrow.

Vectors for every token: one row per token, with `sentence` and `position` (numbers from 0), `token`, `name` (null if
the input gives none), and `vector`, or for all layers `layer_0`, `layer_1`... One vector per sentence: one row per
sentence, with `sentence`, `name`, `text` (tokens joined by spaces), `tokens` (their count) and `vector`. Vectors are
lists of D numbers::

    table = pyarrow.parquet.read_table("out.parquet")
    table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)

A run without sentences makes a table without rows and without vector columns. The metadata of the file has under the
key ``polyseme`` a `polyseme.embed.vectors_record.VectorsRecord`: what the vectors were made with.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from polyseme.embed.writers.base import Part, Record, reading

_KEYS = [
    pa.field("sentence", pa.int64(), nullable=False),
    pa.field("position", pa.int32(), nullable=False),
    pa.field("token", pa.string(), nullable=False),
    pa.field("name", pa.string()),
]
_SENTENCE_KEYS = [
    pa.field("sentence", pa.int64(), nullable=False),
    pa.field("name", pa.string()),
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

    single_part_is_whole = True

    def __init__(self, metadata: Mapping[bytes, bytes] | None = None) -> None:
        self._metadata = metadata

    def write_part(self, path: Path, first: int, records: Sequence[Record]) -> None:
        """Write records as a table of their own."""
        table = records_table(first, records).replace_schema_metadata(self._metadata)
        _write(path, table.schema, in_row_groups(table))

    def merge(self, path: Path, parts: Sequence[Part]) -> None:
        """Copy the rows of all parts to one file; small parts share a row group."""
        schema = pa.schema(_KEYS, metadata=self._metadata)
        for part in parts[:1]:
            with reading(part):
                schema = pq.read_schema(part.path)
        _write(path, schema, _together(chain.from_iterable(_row_groups(part) for part in parts)))


def records_table(first: int, records: Sequence[Record]) -> pa.Table:
    """A table of some records, at least one; ``first`` is the number of the first."""
    return (_sentence_table if records[0].vectors.ndim == 1 else _token_table)(first, records)


def in_row_groups(table: pa.Table) -> Iterator[pa.Table]:
    """A table in slices of the size of a row group."""
    rows = max(1, ROW_GROUP_BYTES * len(table) // max(1, table.nbytes))
    return (table.slice(start, rows) for start in range(0, len(table), rows))


def parquet_writer(file: IO[bytes], schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of row groups to an open file."""
    # Dictionaries and statistics help to find rows; for vectors they cost time and find nothing. zstd with split bytes
    # would save 15% of the size of the vectors at half the speed; Snappy costs nothing and helps with other columns.
    keys = [field.name for field in schema if not pa.types.is_fixed_size_list(field.type)]
    options = {"compression": "snappy", "use_dictionary": keys, "write_statistics": keys}
    return pq.ParquetWriter(file, schema, **options)


def _token_table(first: int, records: Sequence[Record]) -> pa.Table:
    lengths = np.array([len(record.tokens) for record in records])
    row = np.repeat(np.arange(len(records)), lengths)  # (N,): the record of each of all N tokens
    starts = np.cumsum(lengths) - lengths
    names = texts([record.name for record in records])
    vectors = np.concatenate([record.vectors for record in records], axis=-2)  # (L, N, D) or (N, D)
    keys = {
        "sentence": pa.array(first + row),
        "position": pa.array((np.arange(len(row)) - starts[row]).astype(np.int32)),
        "token": texts(list(chain.from_iterable(record.tokens for record in records))),
        "name": names.take(pa.array(row)),
    }
    if vectors.ndim == 2:
        return _table(_KEYS, keys, {"vector": vectors})
    return _table(_KEYS, keys, {f"layer_{index}": layer for index, layer in enumerate(vectors)})


def _sentence_table(first: int, records: Sequence[Record]) -> pa.Table:
    keys = {
        "sentence": pa.array(np.arange(first, first + len(records))),
        "name": texts([record.name for record in records]),
        "text": texts([" ".join(record.tokens) for record in records]),
        "tokens": pa.array([len(record.tokens) for record in records], pa.int32()),
    }
    return _table(_SENTENCE_KEYS, keys, {"vector": np.stack([record.vectors for record in records])})


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


def _row_groups(part: Part) -> Iterator[pa.Table]:
    with reading(part), pq.ParquetFile(part.path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)


def _together(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Put small tables together to row groups of the usual size."""
    waiting: list[pa.Table] = []
    size = 0
    for table in tables:
        if waiting and size + table.nbytes > ROW_GROUP_BYTES:
            yield pa.concat_tables(waiting)
            waiting, size = [], 0
        waiting.append(table)
        size += table.nbytes
    if waiting:
        yield pa.concat_tables(waiting)


def _write(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    with path.open("wb") as file, parquet_writer(file, schema) as writer:
        for table in tables:
            writer.write_table(table)

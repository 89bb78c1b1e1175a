"""Parquet written as a stream: to any open file, a row group at a time, without parts that are joined later.

The columns are those of `polyseme.embed.writers.parquet`, but in place of `file` there is `part` in front: the name of
this file.
"""

import json
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Self

import numpy as np
import pyarrow as pa

from polyseme.arrays import Vectors
from polyseme.embed.choices import NumberType
from polyseme.embed.writers.base import Record, converted
from polyseme.embed.writers.parquet import ROW_GROUP_BYTES, parquet_writer, records_table
from polyseme.text.readers import Sentence

_OBJECT_BYTES = 512  # about what Python takes for a sentence besides its vectors


class ParquetStream:
    """Writes sentences and their vectors to an open file.

    Use it as a context manager. The file is whole only after `describe` and the end of the block; if the block ends
    with an exception, what was written has no description.

    Args:
        file: Where to write.
        part: What to call it.
        like: The vectors of a sentence without tokens, which show the shape: (L, 0, D), (0, D) or (D,).
        dtype: The numbers to store.
        metadata: What the vectors were made with.
    """

    def __init__(
        self, file: IO[bytes], *, part: str, like: Vectors, dtype: NumberType, metadata: Mapping[bytes, bytes]
    ) -> None:
        self._part, self._dtype = part, dtype
        self._records: list[Record] = []
        self._bytes = 0
        self.written = 0
        empty = self._table([Record((), like.astype(dtype))]).slice(0, 0)
        self._writer = parquet_writer(file, empty.schema.with_metadata(metadata))

    def write(self, sentence: Sentence, vectors: Vectors) -> None:
        """Add the next sentence.

        Raises:
            InputError: A number is too large for the number type.
        """
        number = self.written + len(self._records)
        stored = converted(vectors, self._dtype, where=f"{self._part}: sentence {number}")
        self._records.append(Record.of(sentence, stored))
        self._bytes += stored.nbytes + _OBJECT_BYTES
        if self._bytes >= ROW_GROUP_BYTES:
            self._flush()

    def describe(self, key: bytes, record: Mapping[str, object]) -> None:
        """Add to the metadata of the file what only its end can tell."""
        self._flush()
        self._writer.add_key_value_metadata({key: json.dumps(record).encode()})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def _flush(self) -> None:
        if self._records:
            self._writer.write_table(self._table(self._records))
            self.written += len(self._records)
            self._records, self._bytes = [], 0

    def _table(self, records: list[Record]) -> pa.Table:
        table = records_table(self.written, records).drop_columns("file")
        parts = pa.array(np.full(len(table), self._part, dtype=object), pa.string())
        return table.add_column(0, "part", parts)

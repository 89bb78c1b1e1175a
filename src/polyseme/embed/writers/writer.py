"""The writer of embedded vectors: buffers records, stores them in parts, and joins the parts at the end."""

import contextlib
import errno
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from polyseme.embed.writers.base import Format, Part, Record
from polyseme.embed.writers.partial import PartialFolder
from polyseme.errors import InputError, OutputError

# About what Python objects take beside the vectors; it bounds the buffer when sentences are many and vectors small.
_RECORD_BYTES, _TOKEN_BYTES = 512, 64
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class VectorWriter:
    """Writes records to a file that appears, whole, when the writer is closed; made by `open_writer`.

    As a context manager it closes on a clean exit. On an exception it stores what it can in `OUT.partial/` instead,
    where `open_writer(..., resume=True)` finds it.

    Attributes:
        done: How many sentences an interrupted run has stored; the caller goes on with sentence number `done`.
    """

    def __init__(
        self, out: Path, *, folder: PartialFolder, parts: list[Part], form: Format, dtype: str, part_bytes: int
    ) -> None:
        self.done = parts[-1].stop if parts else 0
        self._out = out
        self._folder = folder
        self._parts = parts
        self._format = form
        self._dtype = dtype
        self._part_bytes = part_bytes
        self._buffer: list[Record] = []
        self._buffered_bytes = 0
        self._layout: tuple[int, ...] | None = None
        self._closed = False
        self._worth_keeping = bool(parts)

    def write(self, record: Record) -> None:
        """Add the next sentence; its vectors are copied.

        Raises:
            InputError: The vectors do not fit the tokens, the records before or the number type.
            OutputError: The disk is full or the file cannot be written for another reason.
        """
        if self._closed:
            raise InputError(f"{self._out}: the writer is closed; write all records before closing it")
        number = self._stored + len(self._buffer)
        self._check_shape(number, record)
        try:
            with np.errstate(over="raise"):
                vectors = np.array(record.vectors, dtype=self._dtype, order="C")
        except FloatingPointError:
            largest = np.abs(record.vectors).max()
            raise InputError(
                f"{self._out}: sentence {number} has the value {largest:g}, {self._dtype} ends at "
                f"{np.finfo(self._dtype).max:g}; write float32"
            ) from None
        self._buffer.append(Record(tuple(record.tokens), vectors, record.name))
        self._buffered_bytes += vectors.nbytes + _RECORD_BYTES
        self._buffered_bytes += _TOKEN_BYTES * len(record.tokens) + sum(map(len, record.tokens))
        self._worth_keeping |= bool(record.tokens)
        if self._buffered_bytes >= self._part_bytes:
            self._flush()

    def close(self) -> None:
        """Join the parts to the output file and delete them; does nothing the second time.

        Joining needs as much room on the disk as the parts take already. A run of a single part only renames it.

        Raises:
            OutputError: There is no room; the parts stay.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._flush()
            self._join()
        except BaseException:
            self._keep()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif not self._closed:
            self._closed = True
            self._keep()

    @property
    def _stored(self) -> int:
        return self._parts[-1].stop if self._parts else 0

    def _check_shape(self, number: int, record: Record) -> None:
        shape = record.vectors.shape
        if not 1 <= len(shape) <= 3 or (len(shape) > 1 and shape[-2] != len(record.tokens)):
            raise InputError(
                f"{self._out}: sentence {number} of {len(record.tokens)} tokens has vectors of shape {shape}; "
                "expected (layers, tokens, dim), (tokens, dim) or (dim,)"
            )
        layout = (len(shape), *shape[:-2], shape[-1])  # what all records share: all but T
        if self._layout not in (None, layout):
            raise InputError(
                f"{self._out}: sentence {number} has vectors of shape {shape}, the sentences before it have another "
                f"number of axes, layers or dimensions; write them to a file of their own"
            )
        self._layout = layout

    def _flush(self) -> None:
        """Store the buffered records as a part."""
        if not self._buffer:
            return
        part = self._folder.part(self._stored, self._stored + len(self._buffer))
        try:
            self._folder.put(part.path, lambda path: self._format.write_part(path, part.first, self._buffer))
        except OSError as error:
            # There will be no room when the caller leaves, either; and records after a gap must not follow.
            self._buffer, self._closed = [], True
            if not self._parts:
                self._folder.remove()
                raise OutputError(f"{reason(self._out, error)}; nothing was stored: {advice(error)}") from error
            raise OutputError(
                f"{reason(self._out, error)} after {self._stored} sentences; they are safe in {self._folder.path}: "
                f"{advice(error)} with --resume"
            ) from error
        # No call stands between these: an interrupt comes before them all or after.
        self._parts, self._buffer, self._buffered_bytes = [*self._parts, part], [], 0

    def _join(self) -> None:
        try:
            if len(self._parts) == 1 and self._format.single_part_is_whole:
                self._folder.move(self._parts[0].path, self._out)
            else:
                needed = sum(part.path.stat().st_size for part in self._parts)
                if shutil.disk_usage(self._folder.path).free < needed:
                    raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} ({needed / 2**20:.0f} MiB needed)")
                self._folder.put(self._out, lambda path: self._format.merge(path, self._parts))
        except OSError as error:
            raise OutputError(
                f"{reason(self._out, error)} while joining the parts; all {self._stored} sentences are safe in "
                f"{self._folder.path}: {advice(error)} with --resume"
            ) from error
        self._folder.remove()

    def _keep(self) -> None:
        """Leave what is complete for a later run; the exception on its way tells why there is no more."""
        with contextlib.suppress(Exception):
            self._flush()
        if not self._parts or not self._worth_keeping:
            self._folder.remove()


def reason(path: Path, error: OSError) -> str:
    """Say where and what the system refused."""
    return f"{path}: {error.strerror or error}"


def advice(error: OSError) -> str:
    """Say what to do about it."""
    return f"{'free some space' if error.errno in _FULL else 'put that right'} and run again"

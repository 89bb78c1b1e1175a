"""The writer of embedded vectors: holds records for a while, stores them in parts, and joins the parts at the end."""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from polyseme.embed.writers.base import Format, Part, Record, converted, stored_parts
from polyseme.errors import InputError, OutputError
from polyseme.files.whole import flush, reason, temporary_path, whole_file
from polyseme.files.work_folder import WorkFolder

# About what Python objects take besides the vectors; it bounds the memory if sentences are many and vectors small.
_RECORD_BYTES, _TOKEN_BYTES = 512, 64
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class VectorWriter:
    """Writes records to a file that appears, whole, when the writer is closed; made by `open_writer`.

    Use it as a context manager: it closes at the end of the block. If the block ends with an exception, it stores what
    it can in `OUT.partial` instead, where `open_writer(..., resume=True)` finds it.

    Attributes:
        done: How many sentences an interrupted run has stored; the caller continues with sentence number `done`.
    """

    def __init__(
        self,
        work: WorkFolder,
        *,
        form: Format,
        dtype: str,
        part_bytes: int,
        part_seconds: float,
        background: bool = False,
    ) -> None:
        self._work = work
        self._out = work.output
        self._parts = [] if work.complete else stored_parts(work.path, work.output.suffix)
        self.done = self.stored
        self._format = form
        self._dtype = dtype
        self._part_bytes, self._part_seconds = part_bytes, part_seconds
        self._buffer: list[Record] = []
        self._buffered_bytes = 0
        self._stored_at = time.monotonic()
        self._thread = ThreadPoolExecutor(1, "polyseme writer") if background else None
        self._storing: tuple[Part, list[Record], Future[None]] | None = None
        self._layout: tuple[int, ...] | None = None
        self._closed = work.complete
        self._worth_keeping = bool(self._parts)

    @property
    def path(self) -> Path:
        """The file that is written."""
        return self._out

    @property
    def work_path(self) -> Path:
        """The folder of the parts, while there are any."""
        return self._work.path

    @property
    def complete(self) -> bool:
        """Whether the interrupted run had made its file already; nothing remains to be written."""
        return self._work.complete

    @property
    def resumed(self) -> bool:
        """Whether there was an interrupted run."""
        return self._work.resumed or self._work.complete

    @property
    def stored(self) -> int:
        """How many sentences are stored in parts."""
        return self._parts[-1].stop if self._parts else 0

    @property
    def taken(self) -> int:
        """How many sentences were stored or are held in memory: the number of the next one."""
        return (self._storing[0].stop if self._storing else self.stored) + len(self._buffer)

    def write(self, record: Record) -> None:
        """Add the next sentence; its vectors are copied.

        Raises:
            InputError: The vectors do not fit the tokens, the records before or the number type.
            OutputError: The disk is full, or the file cannot be written for another reason.
        """
        if self._storing and self._storing[2].done():
            self._settle()  # so that a full disk is noticed now
        if self._closed:
            raise InputError(f"{self._out}: the writer is closed; write all records before closing it")
        number = self.taken
        self._check_shape(number, record)
        vectors = converted(record.vectors, self._dtype, where=f"{self._out}: sentence {number}")
        self._buffer.append(Record(tuple(record.tokens), vectors, record.name))
        self._buffered_bytes += vectors.nbytes + _RECORD_BYTES
        self._buffered_bytes += _TOKEN_BYTES * len(record.tokens) + sum(map(len, record.tokens))
        self._worth_keeping |= bool(record.tokens)
        if self._buffered_bytes >= self._part_bytes:
            self._hand_over()

    def store_if_due(self) -> None:
        """Store what is held in memory if the last part was stored some time ago.

        Call this before a long computation, when the results of the one before have been written.
        """
        if time.monotonic() - self._stored_at >= self._part_seconds:
            self._flush()

    def close(self) -> None:
        """Join the parts to the output file and delete them; does nothing the second time.

        Joining needs as much room on the disk as the parts take already. A single part is only renamed.

        Raises:
            OutputError: There is no room; the parts stay.
            FormatError: A part is damaged.
        """
        try:
            if not self._closed:
                self._closed = True
                self._flush()
                self._join()
        except BaseException:
            self._keep()
            raise
        finally:
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        try:
            if not self._closed:
                self._closed = True
                self._keep()
        finally:
            self._release()

    def _check_shape(self, number: int, record: Record) -> None:
        shape = record.vectors.shape
        if not 1 <= len(shape) <= 3 or (len(shape) > 1 and shape[-2] != len(record.tokens)):
            raise InputError(
                f"{self._out}: sentence {number} of {len(record.tokens)} tokens has vectors of shape {shape}; "
                "expected (layers, tokens, dim), (tokens, dim) or (dim,)"
            )
        layout = (len(shape), *shape[:-2], shape[-1])  # what all records share: everything but T
        if self._layout not in (None, layout):
            raise InputError(
                f"{self._out}: sentence {number} has vectors of shape {shape}, the sentences before it have another "
                "number of axes, layers or dimensions; write them to a file of their own"
            )
        self._layout = layout

    def _hand_over(self) -> None:
        """Store the records in memory as a part, in the background if there is a thread for that."""
        if self._thread is None:
            self._flush()
            return
        self._settle()
        if self._buffer:
            part, records = self._next_part(), self._buffer
            self._storing = part, records, self._thread.submit(self._store, part, records)
            self._buffer, self._buffered_bytes = [], 0
        self._stored_at = time.monotonic()

    def _settle(self) -> None:
        """Wait until the part in the background is stored."""
        if self._storing is not None:
            part, _, future = self._storing
            with self._refusing():
                future.result()
            self._parts, self._storing = [*self._parts, part], None

    def _flush(self) -> None:
        """Store the records in memory as a part, and wait until they are stored."""
        self._settle()
        if self._buffer:
            part = self._next_part()
            with self._refusing():
                self._store(part, self._buffer)
            # There is no call between these: an interrupt comes before all of them or after.
            self._parts, self._buffer, self._buffered_bytes = [*self._parts, part], [], 0
        self._stored_at = time.monotonic()

    def _next_part(self) -> Part:
        return Part.within(self._work.path, self.stored, self.stored + len(self._buffer), self._out.suffix)

    def _store(self, part: Part, records: list[Record]) -> None:
        with whole_file(part.path) as temporary:
            self._format.write_part(temporary, part.first, records)

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Say what is safe if a part cannot be stored, and take no more records."""
        try:
            yield
        except OSError as error:
            # There will be no room when the caller leaves, either; and records after a gap must not follow.
            self._buffer, self._storing, self._closed = [], None, True
            raise self._failed(error) from error

    def _release(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
        self._work.close()

    def _failed(self, error: OSError) -> OutputError:
        """What to raise if a part cannot be stored."""
        if not self._parts:
            self._work.remove()
            return OutputError(f"{self._out}: {reason(error)}; nothing was stored: {_advice(error)}")
        return OutputError(
            f"{self._out}: {reason(error)} after {self.stored} sentences; they are safe in {self._work.path}: "
            f"{_advice(error)} with --resume"
        )

    def _join(self) -> None:
        try:
            if len(self._parts) == 1 and self._format.single_part_is_whole:
                self._work.install(self._parts[0].path)
                return
            needed = sum(part.path.stat().st_size for part in self._parts)
            if shutil.disk_usage(self._work.path).free < needed:
                raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} ({needed / 2**20:.0f} MiB needed)")
            joined = temporary_path(self._work.path / self._out.name)
            try:
                self._format.merge(joined, self._parts)
                flush(joined)
                self._work.install(joined)
            finally:
                joined.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self._out}: {reason(error)} while joining the parts; all {self.stored} sentences are safe in "
                f"{self._work.path}: {_advice(error)} with --resume"
            ) from error

    def _keep(self) -> None:
        """Leave what is complete for a later run; the exception on its way tells why there is no more."""
        with contextlib.suppress(Exception):
            self._flush()
        if not self._parts or not self._worth_keeping:
            self._work.remove()


def _advice(error: OSError) -> str:
    """What to do about it."""
    return f"{'free some space' if error.errno in _FULL else 'put that right'} and run again"

"""The writer of embedded vectors: holds records for a while, and adds them in portions to a file that grows."""

import contextlib
import errno
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from polyseme.embed.writers.base import Format, Part, Record, converted
from polyseme.embed.writers.part_queue import PartQueue
from polyseme.embed.writers.work import GrowingFile, part_of, read_rest, write_rest
from polyseme.errors import InputError, OutputError
from polyseme.files.whole import reason
from polyseme.files.work_folder import WorkFolder

# About what Python objects take besides the vectors; it bounds the memory if sentences are many and vectors small.
_RECORD_BYTES, _TOKEN_BYTES = 512, 64
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_WAITING = 2
"""Parts that may wait for the disk: a source gives vectors for several at once, and then computes for a while."""


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
        self._growing = GrowingFile(work.path / f"growing{work.output.suffix}")
        self._parts: list[Part] = []
        self._rest: Part | None = None
        self._format = form
        self._queue = PartQueue(partial(self._growing.add, form), background=background)
        self._may_wait = _WAITING if background else 0
        self._dtype = dtype
        self._part_bytes, self._part_seconds = part_bytes, part_seconds
        self._buffer: list[Record] = []
        self._buffered_bytes = 0
        self._stored_at = time.monotonic()
        self._layout: tuple[int, ...] | None = None
        self._closed = work.complete
        if not work.complete:
            self._parts = self._growing.take_up()
            self._rest, records = read_rest(work.path, self._safe)
            for record in records:
                self._hold(record)
        self.done = self.stored
        self._worth_keeping = self.done > 0

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
    def _safe(self) -> int:
        """How many sentences are safe in the growing file."""
        return self._parts[-1].stop if self._parts else 0

    @property
    def stored(self) -> int:
        """How many sentences are stored."""
        return self._rest.stop if self._rest else self._safe

    @property
    def taken(self) -> int:
        """How many sentences were stored or are held in memory: the number of the next one."""
        return (self._queue.stop or self._safe) + len(self._buffer)

    def write(self, record: Record, *, copy: bool = True) -> None:
        """Add the next sentence.

        Args:
            record: The sentence.
            copy: Copy its vectors; otherwise the caller must leave them as they are.

        Raises:
            InputError: The vectors do not fit the tokens, the records before or the number type.
            OutputError: The disk is full, or the file cannot be written for another reason.
        """
        if self._queue.settled:
            self._settle(len(self._queue) - 1)  # so that a full disk is noticed now
        if self._closed:
            raise InputError(f"{self._out}: the writer is closed; write all records before closing it")
        if self._buffered_bytes >= self._part_bytes:  # what an interrupted run has left
            self._hand_over()
        number = self.taken
        self._check_shape(number, record)
        vectors = converted(record.vectors, self._dtype, where=f"{self._out}: sentence {number}", copy=copy)
        self._hold(replace(record, tokens=tuple(record.tokens), vectors=vectors))
        self._worth_keeping |= bool(record.tokens)
        if self._buffered_bytes >= self._part_bytes:
            self._hand_over()

    def _hold(self, record: Record) -> None:
        """Add a record to those in memory, and count what it takes: the same in every run, and so the parts are."""
        self._buffer.append(record)
        self._buffered_bytes += record.vectors.nbytes + _RECORD_BYTES
        self._buffered_bytes += _TOKEN_BYTES * len(record.tokens) + sum(map(len, record.tokens))

    def store_if_due(self) -> None:
        """Store what is held in memory if something was stored some time ago.

        Call this before a long computation, when the results of the one before have been written.
        """
        if time.monotonic() - self._stored_at >= self._part_seconds:
            self._store_rest()

    def close(self) -> None:
        """Make the file whole and give it its name; does nothing the second time.

        Raises:
            OutputError: There is no room; what is stored stays.
            FormatError: The record of a part is damaged.
        """
        try:
            if not self._closed:
                self._closed = True
                self._flush()
                self._finish()
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
        if self._buffer:
            part = part_of(self._work.path, self._queue.stop or self._safe, self.taken)
            self._queue.put(part, self._buffer)
            self._buffer, self._buffered_bytes = [], 0
        self._settle(self._may_wait)
        self._stored_at = time.monotonic()

    def _settle(self, waiting: int = 0) -> None:
        """Wait until no more than so many parts are still to be stored."""
        while len(self._queue) > waiting:
            with self._refusing():
                part = self._queue.take()
            self._parts, rest, self._rest = [*self._parts, part], self._rest, None
            if rest is not None:
                rest.path.unlink(missing_ok=True)

    def _flush(self) -> None:
        """Store the records in memory as a part, and wait until they are stored."""
        self._hand_over()
        self._settle()

    def _store_rest(self) -> None:
        """Store the records in memory by themselves, as they are too few for a part."""
        self._settle()
        if self._buffer and self.stored < self.taken:
            rest, before = part_of(self._work.path, self._safe, self.taken, "rest"), self._rest
            with self._refusing():
                write_rest(rest, self._buffer)
            self._rest = rest
            if before is not None:
                before.path.unlink(missing_ok=True)
        self._stored_at = time.monotonic()

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Say what is safe if a part cannot be stored, and take no more records."""
        try:
            yield
        except OSError as error:
            # There will be no room when the caller leaves, either; and records after a gap must not follow.
            self._buffer, self._closed = [], True
            self._queue.clear()
            self._growing.give_back()
            raise self._failed(error) from error

    def _release(self) -> None:
        self._queue.close()
        self._growing.close()
        self._work.close()

    def _failed(self, error: OSError) -> OutputError:
        """What to raise if a part cannot be stored."""
        if not self.stored:
            self._work.remove()
            return OutputError(f"{self._out}: {reason(error)}; nothing was stored: {_advice(error)}")
        return OutputError(
            f"{self._out}: {reason(error)} after {self.stored} sentences; they are safe in {self._work.path}: "
            f"{_advice(error)} with --resume"
        )

    def _finish(self) -> None:
        try:
            self._growing.finish(self._format, self._parts)
            self._work.install(self._growing.path)
        except OSError as error:
            self._growing.give_back()
            raise OutputError(
                f"{self._out}: {reason(error)} at the end of the file; all {self.stored} sentences are safe in "
                f"{self._work.path}: {_advice(error)} with --resume"
            ) from error

    def _keep(self) -> None:
        """Leave what is complete for a later run; the exception on its way tells why there is no more."""
        with contextlib.suppress(Exception):
            self._store_rest()
        if not self.stored or not self._worth_keeping:
            self._work.remove()


def _advice(error: OSError) -> str:
    """What to do about it."""
    return f"{'free some space' if error.errno in _FULL else 'put that right'} and run again"

"""A run that makes an index in a database, or adds to one.

What the run has taken in is stored by COPY, together with how far it came, in one transaction of the database; so
whatever stops the server or the program, a later run continues after the last of them. A new index is filled in its own
tables and is there for readers when its row in ``polyseme_index`` says what it was made with. Text that is added is
stored in ``new_sentence`` and ``new_occurrence`` and moved in one transaction at the end.
"""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from polyseme.arrays import Vectors
from polyseme.errors import InputError, OutputError, StoreError
from polyseme.files.whole import JSON
from polyseme.files.work_folder import check_same, run_identity
from polyseme.index.about import About
from polyseme.index.places import Place
from polyseme.index.postgres import tables
from polyseme.index.postgres.address import Address
from polyseme.index.postgres.batch import Batch
from polyseme.index.postgres.connection import Connection
from polyseme.index.postgres.finishing import finish
from polyseme.index.store import Run

SECONDS = 60.0
"""Seconds after which what was taken in is stored."""
_BYTES = 16 << 20
"""Memory for vectors before they are stored, at most."""
_KIND = "index"


class PostgresRun(Run):
    """A run that fills a new schema, or adds to one.

    Args:
        address: The index.
        about: What it is made with.
        settings: What the results depend on.
        resume: Continue an interrupted run. If there is none a new one begins, unless the same was finished before.
        append: Add to the index.
        batch_bytes: Memory for vectors before they are stored.
    """

    def __init__(
        self,
        address: Address,
        about: About,
        settings: Mapping[str, JSON],
        *,
        resume: bool,
        append: bool,
        batch_bytes: int,
    ) -> None:
        self.name = self.work = address.name
        self._about, self._append, self._bytes = about, append, min(batch_bytes, _BYTES)
        self._number: int
        self._batch: Batch
        self._connection = Connection(address, write=True)
        try:
            self._lock()
            if not tables.has_tables(self._connection):
                if append:
                    raise InputError(f"{self.name}: no index is here; build one with polyseme index")
                tables.create(self._connection)
            self._begin({**settings, "append": append}, resume=resume)
        except BaseException:
            self.close()
            raise

    @property
    def sentences(self) -> int:
        """Sentences of the text that are done."""
        return self._batch.done

    @property
    def whole(self) -> bool:
        """Whether the whole text is stored."""
        return self._whole

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored that could be resumed."""
        return not self._batch.occurrences

    def add(self, number: int, tokens: Sequence[str], positions: Sequence[int], rows: Vectors, place: Place) -> None:
        """Take in a sentence; now and then, what was taken in is stored."""
        self._batch.add(number, tokens, positions, rows, place)
        if self._batch.held_bytes >= self._bytes or time.monotonic() - self._saved >= SECONDS:
            self.save()

    def save(self) -> None:
        """Store what was taken in."""
        with self._kept():
            self._batch.store(self._number)
        self._saved = time.monotonic()

    def close_text(self) -> bool:
        """Store the rest; return whether the run has any occurrence."""
        self.save()
        return not self.is_empty

    def finish(self) -> None:
        """Make everything that was stored part of the index, all at once."""
        with self._kept():
            self._connection.rows("UPDATE run SET whole = true WHERE id = %s", self._number)
            self._whole = True
            finish(self._connection, self._number, self._about, append=self._append)

    def discard(self) -> None:
        """Remove everything that was stored, unless the server cannot be reached any more."""
        with contextlib.suppress(StoreError), self._connection.transaction():
            if self._append:
                self._connection.rows("DELETE FROM run WHERE id = %s", self._number)
                tables.drop(self._connection, "new_sentence", "new_occurrence")
            else:
                tables.drop(self._connection, *tables.EVERY)

    def close(self) -> None:
        """End the connection, and with it the lock."""
        self._connection.close()

    def _lock(self) -> None:
        """Let nobody else write this index until the connection ends."""
        ((free,),) = self._connection.rows(
            "SELECT pg_try_advisory_lock(hashtextextended('polyseme ' || %s, 0))", self._connection.address.schema
        )
        if not free:
            raise OutputError(
                f"{self.name}: is being written by another process; wait until it is done, or give another index"
            )

    def _begin(self, settings: Mapping[str, JSON], *, resume: bool) -> None:
        """Look for an interrupted run, or begin a new one."""
        self.complete, self._whole, self._saved = False, False, time.monotonic()
        old, identity = tables.read_about(self._connection), run_identity(_KIND, settings)
        left = self._connection.rows(
            "SELECT id, settings, done, sentences, occurrences, whole FROM run WHERE NOT finished"
        )
        if left:
            number, stored, done, sentences, occurrences, whole = left[0]
            self._check_resumable(json.loads(str(stored)), settings, resume=resume)
            self._whole = bool(whole)
            counts = cast("int", done), cast("int", sentences), cast("int", occurrences)
        elif resume and self._connection.rows("SELECT id FROM run WHERE finished AND identity = %s", identity):
            self.complete = True
            return
        elif old is not None and not self._append:
            raise InputError(f"{self.name}: exists already; give another with ?schema=NAME, or --append to add to it")
        else:
            if old is not None:
                old.check_alike(self.name, self._about)
            elif self._append:
                raise InputError(f"{self.name}: no index is here; build one with polyseme index")
            tables.create_filled(self._connection, "new_" if self._append else "", self._about.dim)
            ((number,),) = self._connection.rows(
                "INSERT INTO run (settings, identity) VALUES (%s, %s) RETURNING id", json.dumps(settings), identity
            )
            counts = 0, 0, 0
        self._number = cast("int", number)
        ((sentences, occurrences),) = self._connection.rows("SELECT sentences, occurrences FROM polyseme_index")
        self._start = cast("int", sentences), cast("int", occurrences)
        self._batch = Batch(self._connection, self._about.dim, counts, self._start, append=self._append)

    def _check_resumable(self, stored: Mapping[str, JSON], settings: Mapping[str, JSON], *, resume: bool) -> None:
        schema = self._connection.address.schema
        give_up = f'give it up with: DELETE FROM "{schema}".run WHERE NOT finished'
        if not resume:
            raise InputError(
                f"{self.name}: holds the work of an interrupted run; continue it with --resume, or {give_up}"
            )
        check_same(stored, settings, self.name, give_up=give_up)

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """Say, if a statement fails, what can be done."""
        try:
            yield
        except StoreError as error:
            kept = "nothing was stored" if self.is_empty else "what was stored before is kept, continue with --resume"
            raise OutputError(f"{error}; {kept}") from error

"""Writing an index into a folder: occurrences are gathered in memory and stored shard by shard."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from polyseme.arrays import Vectors
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.about import About
from polyseme.index.manifest import FinishedRun, Manifest, ShardRecord
from polyseme.index.places import Place
from polyseme.index.shard_writer import ShardWriter
from polyseme.index.store import Run
from polyseme.index.transaction import Transaction
from polyseme.index.vectors import faiss

SECONDS = 60.0
"""Seconds after which the unfinished shard is stored, so that a run that is killed does not lose more work."""


class FolderRun(Run):
    """A run that writes a new folder, or adds to one.

    Args:
        folder: The index.
        about: What it is made with.
        settings: What the results depend on.
        resume: Continue an interrupted run. If there is none a new one begins, unless the same was finished before.
        append: Add to the index.
        shard_bytes: Memory for vectors before they are stored.
        label: What the user calls the text.
    """

    def __init__(
        self,
        folder: Path,
        about: About,
        settings: Mapping[str, JSON],
        *,
        resume: bool,
        append: bool,
        shard_bytes: int,
        label: str | None,
    ) -> None:
        self.name, self._about, self._shard_bytes, self._label = str(folder), about, shard_bytes, label
        self._transaction = Transaction(
            folder,
            {**settings, "shard_bytes": shard_bytes},
            resume=resume,
            append=append,
            check=lambda old: old.check_alike(str(folder), about),
        )
        self.complete, self.work = self._transaction.complete, str(self._transaction.path)
        self._saved = time.monotonic()
        if not self.complete:
            self._done = self._transaction.stored.sentences
            try:
                self._writer = self._transaction.pending(about.dim)
            except BaseException:
                self.close()
                raise

    @property
    def sentences(self) -> int:
        """Sentences of the text that are done."""
        return self._done

    @property
    def whole(self) -> bool:
        """Whether the whole text is stored."""
        return self._transaction.stored.whole

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored that could be resumed."""
        return self._transaction.is_empty

    def add(self, number: int, tokens: Sequence[str], positions: Sequence[int], rows: Vectors, place: Place) -> None:
        """Take in a sentence; a full shard is stored, and one that is not after a minute."""
        self._writer.add(tokens, positions, rows, place)
        self._done = number + 1
        if self._writer.vector_bytes >= self._shard_bytes:
            self._store()
        elif time.monotonic() - self._saved >= SECONDS:
            self.save()

    def save(self) -> None:
        """Store the unfinished shard, so that an interrupted run can continue after it."""
        self._transaction.store_pending(self._writer, sentences=self._done)
        self._saved = time.monotonic()

    def close_text(self) -> bool:
        """Store the last shard; return whether there is any."""
        if len(self._writer):
            self._store()
        return bool(self._transaction.stored.shards)

    def finish(self) -> None:
        """Make the shards part of the index."""
        self._transaction.finish(self._manifest)

    def discard(self) -> None:
        """Remove the work folder."""
        self._transaction.discard()

    def close(self) -> None:
        """Release the lock."""
        self._transaction.close()

    def _store(self) -> None:
        self._transaction.store(self._writer, self._about.compression, sentences=self._done, label=self._label)
        self._writer, self._saved = ShardWriter(self._about.dim), time.monotonic()

    def _manifest(self, shards: list[ShardRecord], runs: list[FinishedRun]) -> Manifest:
        return Manifest.model_validate({**self._about.model_dump(), "shards": shards, "runs": runs})


def check_folder(folder: Path) -> None:
    """Raise an error if nothing can be written under this name, or faiss is missing."""
    faiss()
    if not folder.absolute().name:
        raise InputError(f"{folder}: exists already; give the name of a new folder")
    if str(folder).encode("utf-8", "ignore").decode() != str(folder):
        raise InputError(f"{folder}: the path is not UTF-8, and faiss cannot open it; give another")

"""How shards become part of an index: all of them or none, whenever the program is killed.

The work is done in ``INDEX.partial``, which holds

- ``run.json``, the settings of the run (see `polyseme.files.work_folder`);
- ``stored.json``, how far the run has come: the sentences that are done and the shards that hold them;
- ``index/``, the shards, each whole and flushed before ``stored.json`` names it;
- ``pending-N.npz``, the unfinished shard after N sentences.

A new index becomes visible when ``index/`` gets its name, whole. Text is added in three steps: the shards are moved
into the index, where nothing names them yet; the manifest is replaced, and from that moment on the text is part of the
index; the work folder is removed. Every run draws an id, which the new manifest records. So a run that is killed before
that moment continues where it stopped, and one that is killed after it is recognised as finished.
"""

import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from polyseme.errors import FormatError, InputError, OutputError
from polyseme.files.json_file import read_record
from polyseme.files.whole import JSON, reason, remove_temporaries, rename, write_json
from polyseme.files.work_folder import RUN, WorkFolder, run_identity
from polyseme.index.choices import Compression
from polyseme.index.manifest import MANIFEST, FinishedRun, Manifest, ShardRecord, read_manifest, write_manifest
from polyseme.index.shard_writer import ShardWriter

_KIND = "index"
_STORED = "stored.json"
_NEW = "index"


class Stored(BaseModel):
    """What ``stored.json`` holds: how far a run has come."""

    model_config = ConfigDict(frozen=True)

    run: str
    """The id of the run."""
    first: int
    """The number of its first shard."""
    sentences: int = 0
    """Sentences of the text that are in the shards and in the pending file, or need not be stored."""
    shards: list[ShardRecord] = []
    pending: Annotated[str | None, Field(pattern=r"^pending-[0-9]+\.npz$")] = None
    """The file with the unfinished shard."""
    whole: bool = False
    """Whether the whole text is in the shards."""


class Transaction:
    """A run that makes an index, or adds to one; the index is locked while it is open.

    Use it as a context manager: what is stored stays for `resume`, unless `finish` or `discard` was called.

    Args:
        folder: The index.
        settings: What the results depend on.
        resume: Continue an interrupted run. If there is none a new one begins, unless the same was finished before.
        append: Add to the index.
        check: Raises an error if the index is not one to add to. Called before anything is written, and again once the
            index is locked.

    Attributes:
        stored: How far the run has come.
        complete: Whether the run was finished before, so that nothing remains to be done.
        resumed: Whether an interrupted run is continued.
        path: The work folder.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, JSON],
        *,
        resume: bool,
        append: bool,
        check: Callable[[Manifest], None],
    ) -> None:
        self._folder, self._append = folder, append
        settings = {**settings, "append": append}
        if append:
            check(read_manifest(folder))
        more = ", or --append to add to it" if (folder / MANIFEST).exists() else ""
        self._work = WorkFolder(
            folder,
            kind=_KIND,
            settings=settings,
            resume=resume,
            if_exists=None if append else f"give the name of a new folder{more}",
            finished=lambda path: _finished_run(folder, path, run_identity(_KIND, settings) if resume else None),
        )
        self.complete, self.resumed, self.path = self._work.complete, self._work.resumed, self._work.path
        self._new = self.path / _NEW
        if self.complete:
            return
        try:
            first = 0
            if append:
                remove_temporaries(folder)
                check(manifest := read_manifest(folder))
                first = 1 + max(int(shard.name.rpartition("-")[2]) for shard in manifest.shards)
            self.stored = self._begin(first)
        except BaseException:
            if not self.resumed:
                self._work.remove()
            self._work.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock; what is stored stays."""
        self._work.close()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored that could be resumed."""
        return not self.stored.shards and self.stored.pending is None

    def pending(self, dim: int) -> ShardWriter:
        """The unfinished shard of an interrupted run, or an empty one."""
        if self.stored.pending is None:
            return ShardWriter(dim)
        return ShardWriter.restore(self.path / self.stored.pending, dim, advice=self._begin_again)

    def store(self, writer: ShardWriter, compression: Compression, *, sentences: int, label: str | None = None) -> None:
        """Write a shard.

        Args:
            writer: What it holds.
            compression: How its vectors are stored.
            sentences: How many sentences of the text are done with it.
            label: What the user calls the text.
        """
        name = f"shard-{self.stored.first + len(self.stored.shards):05d}"
        try:
            record = writer.write(self._new / name, compression, label)
            self._replace(sentences=sentences, shards=[*self.stored.shards, record], pending=None)
        except (OSError, RuntimeError) as error:  # faiss raises RuntimeError if a disk is full
            raise self._not_written(error) from error

    def store_pending(self, writer: ShardWriter, *, sentences: int) -> None:
        """Write the unfinished shard, so that an interrupted run can continue with it; `store` is called later."""
        name = f"pending-{sentences}.npz" if len(writer) else None
        try:
            if name is not None and name != self.stored.pending:
                writer.save(self.path / name)
            self._replace(sentences=sentences, pending=name)
        except OSError as error:
            raise self._not_written(error) from error

    def finish(self, manifest: Callable[[list[ShardRecord], list[FinishedRun]], Manifest]) -> None:
        """Make the shards part of the index, and remove the work folder.

        Args:
            manifest: Gives the manifest of a new index with these shards, made by these runs.
        """
        run = FinishedRun(id=self.stored.run, settings=self._work.identity)
        try:
            self._replace(whole=True)
            if not self._append:
                write_manifest(self._new, manifest(self.stored.shards, [run]))
                self._work.install(self._new)
                return
            old = read_manifest(self._folder)
            for shard in self.stored.shards:
                self._move(shard.name)
            shards, runs = [*old.shards, *self.stored.shards], [*old.runs, run]
            # The next query that wants a whitening fits it on all of the text.
            changed = {"shards": shards, "runs": runs, "whitening": None}
            write_manifest(self._folder, old.model_copy(update=changed))
        except OSError as error:
            raise self._not_written(error) from error
        self._work.remove()

    def discard(self) -> None:
        """Remove the work folder with everything in it."""
        self._work.remove()

    @property
    def _begin_again(self) -> str:
        return f"delete {self.path} to begin again"

    def _begin(self, first: int) -> Stored:
        """What an interrupted run has stored, without what it had not finished; or the record of a new run."""
        found = _read_stored(self.path) if self.resumed else None
        if found is not None and found.first != first:
            raise InputError(
                f"{self._folder}: has got other text since {self.path} was begun; {self._begin_again}, and add the "
                "text without --resume"
            )
        stored = found or Stored(run=secrets.token_hex(8), first=first)
        try:
            if found is None:
                write_json(self.path / _STORED, stored.model_dump())
            self._new.mkdir(exist_ok=True)
            known = {shard.name for shard in stored.shards}
            for place in (self.path, self._new):
                for path in place.iterdir():
                    if path.name not in {RUN, _STORED, _NEW, stored.pending, *known}:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError as error:
            kept = "nothing was stored" if found is None else "what was stored before is kept"
            raise OutputError(f"{self.path}: could not be written ({reason(error)}); {kept}") from error
        return stored

    def _replace(self, **changed: object) -> None:
        """Write down how far the run has come, and remove a pending file that is not needed any more."""
        before = self.stored
        stored = before.model_copy(update=changed)
        write_json(self.path / _STORED, stored.model_dump())
        self.stored = stored
        if before.pending is not None and before.pending != stored.pending:
            (self.path / before.pending).unlink(missing_ok=True)

    def _move(self, name: str) -> None:
        """Move a shard into the index, where the manifest does not name it yet; it may have been moved before."""
        source, target = self._new / name, self._folder / name
        if source.exists():
            shutil.rmtree(target, ignore_errors=True)
            rename(source, target)
        elif not target.is_dir():
            raise FormatError(f"{source}: missing; {self._begin_again}")

    def _not_written(self, error: Exception) -> OutputError:
        kept = "nothing was stored" if self.is_empty else "what was stored before is kept, continue with --resume"
        return OutputError(f"{self.path}: could not be written ({reason(error)}); {kept}")


def _finished_run(folder: Path, path: Path, resumed: str | None) -> str | None:
    """The settings of a run that is part of the index already.

    Args:
        folder: The index.
        path: The work folder; if it exists, the run is the one that left it.
        resumed: The settings of the run to look for if there is no work folder; None if a new run is to begin.
    """
    if not (folder / MANIFEST).exists():
        return None
    runs = read_manifest(folder).runs
    if path.exists():
        left = _read_stored(path)
        return next((run.settings for run in runs if left is not None and run.id == left.run), None)
    return resumed if any(run.settings == resumed for run in runs) else None


def _read_stored(path: Path) -> Stored | None:
    """What a work folder says about how far its run came; None if that was not far."""
    if not (path / _STORED).exists():
        return None
    return read_record(path / _STORED, Stored, advice=f"delete {path} to begin again")

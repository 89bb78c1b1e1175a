"""The folder of parts while it is written: which run it belongs to, which parts are complete, and its completion.

On this machine parts are written in ``OUT.partial/parts``, which becomes ``OUT`` when all are there, as for every other
output. On another file system a folder cannot be renamed, so parts are written where they stay, next to ``_run.json``,
which tells what they are made with until ``_manifest.json`` takes its place. Either way a folder with a manifest is
complete. A part is complete if its metadata, which is at the end of a Parquet file, has its record.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyseme.embed.vectors_record import MANIFEST, PART, PartRecord, VectorsManifest
from polyseme.errors import FormatError, InputError
from polyseme.files.json_file import check_record
from polyseme.files.location import Location
from polyseme.files.whole import JSON, flush_tree, remove_temporaries
from polyseme.files.work_folder import RunRecord, WorkFolder, check_same
from polyseme.scale.parts import Part

_KIND = "embed --engine ray"
_RUN = "_run.json"
_READERS = 16


class PartsFolder(ABC):
    """A folder of parts that is being written.

    Attributes:
        folder: Where the parts are.
        resumed: Whether an interrupted run is continued.
        complete: Whether the folder was complete already.
        kept: Where an interrupted run keeps its parts, for messages.
    """

    folder: Location
    resumed: bool
    complete: bool
    kept: str

    @abstractmethod
    def finish(self, manifest: VectorsManifest) -> None:
        """Complete the folder."""

    @abstractmethod
    def close(self) -> None:
        """Let others write it; what is there stays."""

    def done(self, parts: Sequence[Part]) -> list[PartRecord]:
        """The records of those parts that are complete."""
        if not self.resumed:
            return []
        with ThreadPoolExecutor(_READERS) as readers:
            found = readers.map(lambda part: part_record(self.folder.child(part.name)), parts)
            pairs = zip(parts, found, strict=True)
            return [one for part, one in pairs if one is not None and (one.start, one.stop) == (part.start, part.stop)]

    def size(self, name: str) -> int:
        """Bytes of a part."""
        return self.folder.child(name).size() or 0


def open_output(output: Location, settings: Mapping[str, JSON], *, resume: bool) -> PartsFolder:
    """Open a folder for parts.

    Args:
        output: The folder; it must not exist, unless a run that writes there was interrupted.
        settings: What the parts depend on; an interrupted run is continued only with the same.
        resume: Continue an interrupted run. If there is none, a new one begins.

    Raises:
        InputError: Something is in the way.
    """
    if output.local is not None:
        return _LocalFolder(output.local, settings, resume=resume)
    return _RemoteFolder(output, settings, resume=resume)


def part_record(location: Location) -> PartRecord | None:
    """The record at the end of a part; None if it is not there, or not complete."""
    try:
        with location.open() as file:
            metadata = pq.read_metadata(file).metadata or {}
        return PartRecord.model_validate_json(metadata[PART])
    except (OSError, InputError, pa.ArrowException, KeyError, ValueError):
        return None


class _LocalFolder(PartsFolder):
    def __init__(self, output: Path, settings: Mapping[str, JSON], *, resume: bool) -> None:
        self._work = WorkFolder(output, kind=_KIND, settings=settings, resume=resume)
        parts = self._work.path / "parts"
        self.folder, self.resumed, self.complete = Location.of(parts), self._work.resumed, self._work.complete
        self.kept = str(self._work.path)
        if not self.complete:
            parts.mkdir(exist_ok=True)
            remove_temporaries(parts)

    def finish(self, manifest: VectorsManifest) -> None:
        parts, names = Path(self.folder.path), {part.name for part in manifest.parts}
        for path in parts.iterdir():
            if path.name not in names:
                path.unlink(missing_ok=True)  # what a worker left that was killed, or is slower than another
        self.folder.child(MANIFEST).write(_as_json(manifest))
        flush_tree(parts)
        self._work.install(parts)

    def close(self) -> None:
        self._work.close()


class _RemoteFolder(PartsFolder):
    def __init__(self, output: Location, settings: Mapping[str, JSON], *, resume: bool) -> None:
        self.folder, self.kept = output, output.shown
        self._run = output.child(_RUN)
        self.complete = output.child(MANIFEST).size() is not None
        self.resumed = self._run.size() is not None
        if self.complete and not self.resumed:
            raise InputError(f"{output.shown}: exists already; give a new name")
        if not self.resumed:
            if output.files():
                raise InputError(f"{output.shown}: holds other files; give a new name")
            output.make_folder()
            self._run.write(RunRecord(kind=_KIND, settings=dict(settings)).model_dump_json().encode())
            return
        if not resume:
            raise InputError(
                f"{output.shown}: holds the work of an interrupted run; continue it with --resume, or delete the folder"
            )
        advice = f"delete {output.shown} to begin again"
        try:
            value = json.loads(self._run.read())
        except ValueError as error:
            raise FormatError(f"{self._run.shown}: damaged; {advice}") from error
        stored = check_record(value, RunRecord, where=self._run.shown, advice=advice)
        check_same(stored.settings, settings, output.shown)
        if self.complete:  # the run was killed between its last two steps
            self._run.delete()

    def finish(self, manifest: VectorsManifest) -> None:
        self.folder.child(MANIFEST).write(_as_json(manifest))
        self._run.delete()

    def close(self) -> None:
        """Nothing is locked on another file system."""


def _as_json(manifest: VectorsManifest) -> bytes:
    return json.dumps(manifest.model_dump(), indent=1, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"

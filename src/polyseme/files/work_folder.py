"""The folder in which a run that can be resumed keeps its work until its output is whole.

It is next to the output (``OUT.partial``, ``OUT.training``) and contains ``run.json``: the kind of run, and the
settings that its results depend on. A run is resumed only if those are the same. The output is locked for as long as
the folder is open.
"""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from polyseme.errors import InputError, OutputError
from polyseme.files.checksum import digest
from polyseme.files.json_file import read_record
from polyseme.files.lock import locked
from polyseme.files.whole import JSON, reason, remove_temporaries, rename, temporary_path, write_json

RUN = "run.json"
_INSTALLING = "installing.json"
_LONGEST_SHOWN = 200


class RunRecord(BaseModel):
    """What ``run.json`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["polyseme-run"] = "polyseme-run"
    version: Literal[1] = 1
    kind: str
    """What runs: embed, index, train, ..."""
    settings: dict[str, JSON]
    """What the results depend on."""


class _Installing(BaseModel):
    """Which file or folder is about to get the output's name: a rename keeps these numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: int
    inode: int


class WorkFolder:
    """An open work folder, locked.

    Use it as a context manager: leaving releases the lock and keeps the folder, unless `install` or `remove` were
    called.

    Args:
        output: The file or folder that the run makes.
        kind: What runs: "embed", "index", "train", ...
        settings: What the results depend on; JSON values. Equal settings make equal results.
        resume: Continue an interrupted run. If there is none, a new run begins.
        if_exists: What to do if the output exists, as the end of a message; None if it may exist.
        suffix: What the folder's name has after that of the output.
        may_differ: Settings that a resumed run may have otherwise; the stored value is replaced.
        finished: Asked once the output is locked, with the path of the folder, which need not exist: the `identity` of
            a run whose results are in the output already, or None. What is left of such a run is removed; if it was
            this very run, it is complete, otherwise a new one begins.

    Attributes:
        path: The folder.
        identity: A digest of the kind of run and its settings.
        resumed: Whether an interrupted run was found.
        complete: Whether the run had made its output already, and at most its work folder was left; the folder is
            removed, and nothing remains to be done.

    Raises:
        InputError: An interrupted run is there and `resume` is false, or it had other settings; or the output exists.
        FormatError: ``run.json`` is damaged.
        OutputError: Another process writes the output, or the folder cannot be made.
    """

    def __init__(
        self,
        output: Path,
        *,
        kind: str,
        settings: Mapping[str, JSON],
        resume: bool,
        if_exists: str | None = "give a new name",
        suffix: str = ".partial",
        may_differ: Collection[str] = (),
        finished: Callable[[Path], str | None] | None = None,
    ) -> None:
        self.output = output
        self.path = work_path(output, suffix)
        self.resumed = False
        self.complete = False
        record = RunRecord(kind=kind, settings=_as_json(settings))
        self.identity = run_identity(kind, settings)
        with ExitStack() as stack:
            stack.enter_context(locked(output))
            for leftover in (output, self.path):
                remove_temporaries(self.path.parent, of=leftover.name)
            if finished is not None and (done := finished(self.path)) is not None:
                self.remove()
                self.complete = done == self.identity
            if self.path.exists():
                self._take_over(record, resume=resume, may_differ=may_differ)
            if if_exists is not None and not self.complete and output.exists():
                raise InputError(f"{output}: exists already; {if_exists}")
            if not self.resumed and not self.complete:
                self._begin(record)
            self._lock = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock; the folder stays."""
        self._lock.close()

    def install(self, source: Path) -> None:
        """Move a whole file or folder out of the work folder to the output's name, and remove the work folder.

        A run that is killed in between is complete when it is resumed.
        """
        status = source.stat()
        write_json(self.path / _INSTALLING, {"device": status.st_dev, "inode": status.st_ino})
        rename(source, self.output)
        self.remove()

    def remove(self) -> None:
        """Delete the folder with everything in it: it disappears at once, and its files after that."""
        gone = temporary_path(self.path)
        with suppress(FileNotFoundError):
            rename(self.path, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _begin(self, record: RunRecord) -> None:
        try:
            self.path.mkdir(exist_ok=True)
            write_json(self.path / RUN, record.model_dump(), indent=1)
        except OSError as error:
            shutil.rmtree(self.path, ignore_errors=True)
            raise OutputError(f"{self.path}: cannot be created ({reason(error)}); nothing was stored") from error

    def _take_over(self, record: RunRecord, *, resume: bool, may_differ: Collection[str]) -> None:
        """Look at what an interrupted run left."""
        if not (self.path / RUN).exists() and self._is_empty():
            return  # the run was killed between making the folder and its record
        if not resume:
            raise InputError(
                f"{self.path}: holds the work of an interrupted run; continue it with --resume, or delete this folder"
            )
        stored = read_run(self.path, record.kind)
        check_same(stored.settings, record.settings, self.path, may_differ=may_differ)
        remove_temporaries(self.path)
        # A run that replaces files of its output, as training does, may have been killed while it wrote one.
        for folder in (self.output, *self.output.glob("*/")):
            remove_temporaries(folder)
        if self._is_installed():
            self.complete = True
            self.remove()
            return
        # The file it names may be gone by now, and the system gives its number to another one.
        (self.path / _INSTALLING).unlink(missing_ok=True)
        self.resumed = True
        if stored.settings != record.settings:
            try:
                write_json(self.path / RUN, record.model_dump(), indent=1)
            except OSError as error:
                raise OutputError(f"{self.path / RUN}: could not be written ({reason(error)}); all is kept") from error

    def _is_empty(self) -> bool:
        remove_temporaries(self.path)
        return self.path.is_dir() and not any(self.path.iterdir())

    def _is_installed(self) -> bool:
        """Whether the output is the very file or folder that the interrupted run was about to install."""
        marker = self.path / _INSTALLING
        if not marker.exists() or not self.output.exists():
            return False
        expected = read_record(marker, _Installing, advice=f"delete {self.path} to begin again")
        status = self.output.stat()
        return (status.st_dev, status.st_ino) == (expected.device, expected.inode)


def work_path(output: Path, suffix: str = ".partial") -> Path:
    """Where the work folder of an output is."""
    place = output if output.name else output.absolute()
    return place.with_name(place.name + suffix)


def run_identity(kind: str, settings: Mapping[str, JSON]) -> str:
    """A digest that is the same for runs that make the same results."""
    return digest([json.dumps([kind, _as_json(settings)], sort_keys=True).encode()])


def read_run(folder: Path, kind: str) -> RunRecord:
    """What the work folder of a run says about it.

    Raises:
        FormatError: ``run.json`` is missing or damaged.
        InputError: It is the folder of another kind of run.
    """
    record = read_record(folder / RUN, RunRecord, advice=f"delete {folder} to begin again")
    if record.kind != kind:
        raise InputError(
            f"{folder}: holds the work of an interrupted '{record.kind}', not of '{kind}'; continue that one, or "
            "delete this folder"
        )
    return record


def check_same(
    stored: Mapping[str, JSON],
    given: Mapping[str, JSON],
    folder: Path | str,
    *,
    may_differ: Collection[str] = (),
    give_up: str = "delete this folder to begin again",
) -> None:
    """Refuse settings under which the rest of a run would not match its beginning.

    Args:
        stored: The settings of the interrupted run.
        given: Those of this one.
        folder: Where the interrupted run keeps its work.
        may_differ: Settings that need not be the same.
        give_up: What to do to begin again instead, as the end of a message.

    Raises:
        InputError: A setting differs.
    """
    given = _as_json(given)
    for name in {**given, **stored}:
        if name in may_differ or (name in stored and name in given and stored[name] == given[name]):
            continue
        before, after = _shown(stored, given, name), _shown(given, stored, name)
        raise InputError(
            f"{folder}: {name} was {before} in the interrupted run and is {after} here; resume with the settings of "
            f"the interrupted run, or {give_up}"
        )


def _shown(side: Mapping[str, JSON], other: Mapping[str, JSON], name: str) -> str:
    """A setting as a message shows it; of a list, the first entry that the other side does not have."""
    if name not in side:
        return "not set"
    value, other_value = side[name], other.get(name)
    if isinstance(value, list) and isinstance(other_value, list):
        value = next((one for one in value if one not in other_value), value)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def _as_json(settings: Mapping[str, JSON]) -> dict[str, JSON]:
    """Settings as they are when they are read back: tuples are lists, and odd characters in names are escaped."""
    text = json.dumps(settings, ensure_ascii=False).encode("utf-8", "backslashreplace")
    plain: dict[str, JSON] = json.loads(text)
    return plain

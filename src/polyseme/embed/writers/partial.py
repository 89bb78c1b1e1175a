"""The folder `OUT.partial/`, where the results of a run stay until OUT is whole.

It holds `settings.json` and the parts `part-FIRST-STOP` + OUT's suffix, each a whole file of OUT's format with the
sentences FIRST to STOP - 1. Every file is written as `NAME.tmp`, flushed to the disk and renamed, so a file without
`.tmp` is whole whatever stopped the run.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from polyseme.embed.writers.base import Part
from polyseme.errors import InputError

_LONGEST_SHOWN = 200

JSON: TypeAlias = "str | int | float | bool | Sequence[JSON] | Mapping[str, JSON] | None"


class PartialFolder:
    """The folder `OUT.partial/` of one output file."""

    def __init__(self, out: Path) -> None:
        self.path = out.with_name(f"{out.name}.partial")
        self._suffix = out.suffix

    def begin(self, settings: Mapping[str, JSON], *, resume: bool) -> list[Part]:
        """Make the folder, or take over the one of an interrupted run, and return its parts.

        Raises:
            InputError: The folder exists and `resume` is false, or it was made with other settings.
        """
        stored = self.path / "settings.json"
        if not self.path.exists():
            self.path.mkdir()
            try:
                self.put(stored, lambda path: _write_json(path, settings))
            except BaseException:
                self.remove()
                raise
            return []
        if not resume:
            raise InputError(
                f"{self.path}: holds the results of an interrupted run; continue it with --resume, or delete the folder"
            )
        if stored.exists() or self._numbers():
            self._check(stored, settings)
        else:  # the run was stopped between making the folder and its first file
            self.put(stored, lambda path: _write_json(path, settings))
        for temporary in self.path.glob("*.tmp"):
            temporary.unlink()
        parts: list[Part] = []
        for first, stop in self._numbers():
            part = self.part(first, stop)
            if first == (parts[-1].stop if parts else 0):
                parts.append(part)
            else:  # after a gap: its sentences come again
                part.path.unlink()
        return parts

    def part(self, first: int, stop: int) -> Part:
        """Name the part of the sentences `first` to `stop - 1`."""
        return Part(first, stop, self.path / f"part-{first:08}-{stop:08}{self._suffix}")

    def put(self, target: Path, write: Callable[[Path], None]) -> None:
        """Make the file `target` with `write`, which gets a temporary path; `target` is then whole or untouched."""
        temporary = self.path / f"{target.name}.tmp"
        try:
            write(temporary)
            _sync(temporary)
            self.move(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def move(self, source: Path, target: Path) -> None:
        """Give a whole file its final name."""
        source.replace(target)
        # Some systems cannot flush a folder; the rename has happened all the same.
        with contextlib.suppress(OSError):
            _sync(target.parent)

    def remove(self) -> None:
        """Delete the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _numbers(self) -> list[tuple[int, int]]:
        """List the first and the stop number of every part there is, in order."""
        pattern = re.compile(rf"part-(\d{{8,}})-(\d{{8,}}){re.escape(self._suffix)}")
        matches = (pattern.fullmatch(path.name) for path in self.path.iterdir())
        return sorted((int(match[1]), int(match[2])) for match in matches if match)

    def _check(self, stored: Path, settings: Mapping[str, JSON]) -> None:
        try:
            old: dict[str, Any] = dict(json.loads(stored.read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{stored}: cannot be read ({error}), expected the settings of the interrupted run; "
                f"delete {self.path} to start anew"
            ) from error
        new: dict[str, Any] = json.loads(json.dumps(settings))  # tuples become lists, as in the stored settings
        for key in {**new, **old}:
            if key in old and key in new and old[key] == new[key]:
                continue
            was, now = (_shown(side, key, other) for side, other in ((old, new), (new, old)))
            raise InputError(
                f"{stored}: {key} was {was} in the interrupted run and is {now} now; use the settings of the "
                f"interrupted run, or delete {self.path} to start anew"
            )


def _shown(side: Mapping[str, Any], key: str, other: Mapping[str, Any]) -> str:
    """A setting; of a list, what the other does not have."""
    if key not in side:
        return "not set"
    value, beside = side[key], other.get(key)
    if isinstance(value, list) and isinstance(beside, list):
        value = next((one for one in value if one not in beside), value)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def _write_json(path: Path, settings: Mapping[str, JSON]) -> None:
    # A file's name need not be Unicode; what of it is not, is escaped.
    text = json.dumps(settings, ensure_ascii=False, indent=2) + "\n"
    path.write_text(text, "utf-8", "backslashreplace")


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk, so that a rename never outlives what it names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

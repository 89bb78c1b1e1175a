"""The files of an unfinished run in its work folder.

`growing` with the suffix of the output is going to be the output. `part-FIRST-STOP.bin` says that the sentences FIRST
to STOP - 1 are safe in it, and where; what lies behind the last part is cut off before anything is added. Sentences
that are too few for a part are in `rest-FIRST-STOP.bin`, with their vectors.

Both kinds have a line of JSON (where the part begins and ends in the growing file, and a checksum), then bytes.
"""

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

import numpy as np

from polyseme.embed.writers.base import Format, Noted, Part, Record, reading
from polyseme.files.whole import whole_file

_SUFFIX = ".bin"


def part_of(folder: Path, first: int, stop: int, kind: str = "part") -> Part:
    """A part of these sentences, which need not exist yet."""
    return Part(first, stop, folder / f"{kind}-{first:08}-{stop:08}{_SUFFIX}")


def _found(folder: Path, kind: str) -> list[Part]:
    pattern = re.compile(rf"{kind}-(\d{{8,}})-(\d{{8,}}){re.escape(_SUFFIX)}")
    matches = (pattern.fullmatch(path.name) for path in folder.iterdir())
    return [part_of(folder, *pair, kind) for pair in sorted((int(m[1]), int(m[2])) for m in matches if m)]


def write_note(part: Part, start: int, end: int, note: bytes) -> None:
    """Record that a part is safe."""
    with whole_file(part.path) as temporary:
        temporary.write_bytes(json.dumps({"start": start, "end": end, "crc": _check(start, end, note)}).encode())
        with temporary.open("ab") as file:
            file.write(b"\n")
            file.write(note)


def read_note(part: Part) -> Noted:
    """What was recorded of a part.

    Raises:
        FormatError: The record is damaged.
    """
    with reading(part.path):
        line, _, note = part.path.read_bytes().partition(b"\n")
        record = json.loads(line)
        start, end = record["start"], record["end"]
        if record["crc"] != _check(start, end, note) or not 0 <= start <= end or part.stop <= part.first:
            raise ValueError("the checksum is another one")
    return Noted(part, start, end, note)


def _check(start: int, end: int, note: bytes) -> int:
    return zlib.crc32(note, zlib.crc32(f"{start:d} {end:d}".encode()))


def _drop_from_memory(file: FileIO, start: int, end: int) -> None:
    """Tell the system that these bytes, which are on the disk, will not be read soon.

    It need not find new memory for every part then, which takes time, nor take it from other programs.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file.fileno(), start, end - start, os.POSIX_FADV_DONTNEED)


class GrowingFile:
    """The file that is going to be the output, in a work folder.

    Args:
        path: Where it is, or is going to be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        self._end = 0

    def take_up(self) -> list[Part]:
        """The parts that follow each other from sentence 0 on.

        A part after a gap, or one that the file does not reach, is deleted: its sentences are going to be computed
        again.

        Raises:
            FormatError: The record of a part is damaged.
        """
        size = self.path.stat().st_size if self.path.exists() else 0
        parts: list[Part] = []
        for part in _found(self.path.parent, "part"):
            if part.first == (parts[-1].stop if parts else 0):
                noted = read_note(part)
                if noted.start == self._end and noted.end <= size:
                    parts.append(part)
                    self._end = noted.end
                    continue
            part.path.unlink()
        return parts

    def add(self, form: Format, part: Part, records: Sequence[Record]) -> None:
        """Add a part, and record it when it is on the disk."""
        file = self._opened()
        note = form.append(file, part.first, records)
        end = file.tell()
        os.fsync(file.fileno())
        _drop_from_memory(file, self._end, end)
        write_note(part, self._end, end, note)
        self._end = end

    def finish(self, form: Format, parts: Sequence[Part]) -> None:
        """Make the file whole, and wait until it is on the disk."""
        file = self._opened()
        form.finish(file, lambda: map(read_note, parts))
        os.fsync(file.fileno())

    def give_back(self) -> None:
        """Cut off what is not safe, if that is possible."""
        with suppress(OSError):
            self._opened()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> FileIO:
        """The file, which ends with its last part."""
        if self._file is None:
            self._file = FileIO(self.path, "r+" if self.path.exists() else "w+")
        self._file.truncate(self._end)
        self._file.seek(self._end)
        return self._file


def write_rest(part: Part, records: Sequence[Record]) -> None:
    """Store records by themselves."""
    details = [
        [one.tokens, [one.name, one.file, one.line, one.document], one.vectors.dtype.str, one.vectors.shape]
        for one in records
    ]
    vectors = b"".join(record.vectors.tobytes() for record in records)
    write_note(part, 0, 0, json.dumps(details).encode() + b"\n" + vectors)


def read_rest(folder: Path, first: int) -> tuple[Part | None, list[Record]]:
    """The records that were stored by themselves from sentence `first` on; others are deleted.

    Raises:
        FormatError: They are damaged.
    """
    found = _found(folder, "rest")
    kept = max((part for part in found if part.first == first), key=lambda part: part.stop, default=None)
    for part in found:
        if part != kept:
            part.path.unlink()
    if kept is None:
        return None, []
    note = read_note(kept).note
    with reading(kept.path):
        line, _, vectors = note.partition(b"\n")
        records = list(_records(json.loads(line), vectors))
        if len(records) != kept.stop - kept.first:
            raise ValueError(f"{len(records)} sentences, expected {kept.stop - kept.first}")
    return kept, records


def _records(
    details: list[tuple[list[str], tuple[str | None, str | None, int | None, str | None], str, list[int]]],
    vectors: bytes,
) -> Iterator[Record]:
    place = 0
    for tokens, origin, dtype, shape in details:
        array = np.frombuffer(vectors, dtype, int(np.prod(shape)), place).reshape(shape)
        place += array.nbytes
        yield Record(tuple(tokens), array, *origin)

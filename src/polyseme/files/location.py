"""A file or folder on this machine or on any file system that pyarrow or fsspec knows: s3, gs, hdfs, abfs, ...

A plain path is local and needs nothing. An address such as ``s3://bucket/folder`` is opened by pyarrow or, if that does
not know its scheme, by fsspec with the package that it names.
"""

import io
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from polyseme.errors import InputError, MissingPart
from polyseme.files.whole import reason, whole_file

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from pyarrow import NativeFile
    from pyarrow.fs import FileSystem

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # a single letter is a drive


@dataclass(frozen=True)
class Location:
    """Where a file or a folder is; can be sent to another process.

    Attributes:
        path: Within its file system; absolute if that is local.
        shown: What to call it in messages: as it was given.
        system: A file system of pyarrow; None for the local one.
    """

    path: str
    shown: str
    system: "FileSystem | None" = None

    @classmethod
    def of(cls, text: str | os.PathLike[str]) -> "Location":
        """The location that a path or an address names.

        Raises:
            InputError: No file system is known for the address.
            MissingPart: A package is missing that the address needs.
        """
        shown = os.fspath(text)
        if not is_address(shown):
            return cls(str(Path(shown).absolute()), shown)
        if shown.startswith("file://"):
            return cls(shown.removeprefix("file://"), shown)
        system, path = _open_system(shown)
        return cls(path, shown, system)

    @property
    def local(self) -> Path | None:
        """The path on this machine, if it is there."""
        return Path(self.path) if self.system is None else None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    def child(self, name: str) -> "Location":
        """A file in this folder."""
        address, _, query = self.shown.partition("?")
        shown = f"{address.rstrip('/')}/{name}" + (f"?{query}" if query else "")
        return Location(f"{self.path.rstrip('/')}/{name}", shown, self.system)

    def size(self) -> int | None:
        """Bytes of a file; None if there is no file."""
        if self.system is None:
            path = Path(self.path)
            return path.stat().st_size if path.is_file() else None
        with _explained(self):
            found = self.system.get_file_info(self.path)
        return int(found.size) if found.is_file else None

    def files(self) -> "list[tuple[Location, int, str]]":
        """The files in and below a folder with their sizes and times of change, sorted by path, without hidden ones."""
        from pyarrow import fs

        with _explained(self):
            system = self.system or fs.LocalFileSystem()
            found = system.get_file_info(fs.FileSelector(self.path, recursive=True, allow_not_found=True))
        entries = sorted((one.path, int(one.size), str(one.mtime_ns)) for one in found if one.is_file)
        names = ((PurePosixPath(path).relative_to(self.path), size, changed) for path, size, changed in entries)
        return [
            (self.child(str(name)), size, changed)
            for name, size, changed in names
            if not any(part.startswith(".") for part in name.parts)
        ]

    def open(self) -> AbstractContextManager[io.BufferedIOBase]:
        """Open a file for reading, anywhere in it."""
        with _explained(self):
            if self.system is None:
                return Path(self.path).open("rb")
            file = self.system.open_input_file(self.path)
        return nullcontext(cast("io.BufferedIOBase", io.BufferedReader(_Readable(file), 1 << 16)))

    def read(self) -> bytes:
        """The content of a small file."""
        with self.open() as file:
            return file.read()

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """Open a new file for writing.

        On this machine it is whole or absent. Elsewhere a writer that is killed may leave the beginning of a file, so
        the reader has to see from its content whether it is whole.
        """
        if self.system is None:
            with whole_file(Path(self.path)) as temporary, temporary.open("wb") as file:
                yield file
            return
        with self.system.open_output_stream(self.path) as stream:
            yield stream

    def write(self, content: bytes) -> None:
        """Write a small file."""
        with self.writing() as file:
            file.write(content)

    def delete(self) -> None:
        """Delete a file, if it is there."""
        if self.system is None:
            Path(self.path).unlink(missing_ok=True)
        elif self.size() is not None:
            self.system.delete_file(self.path)

    def make_folder(self) -> None:
        """Make a folder and those above it, where files need one."""
        if self.system is None:
            Path(self.path).mkdir(parents=True, exist_ok=True)
        else:
            with _explained(self):
                self.system.create_dir(self.path, recursive=True)


def is_address(text: str) -> bool:
    """Whether a text is an address rather than a path."""
    return _ADDRESS.match(text) is not None


class _Readable(io.RawIOBase):
    """A file of pyarrow as Python's readers want it."""

    def __init__(self, file: "NativeFile") -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return int(self._file.tell())

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data: bytes = self._file.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_system(address: str) -> "tuple[FileSystem, str]":
    """The file system of an address, and the path within it."""
    try:
        from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs
    except ModuleNotFoundError as error:
        raise MissingPart(f"{address}: needs the package pyarrow; pip install 'polyseme[scale]'") from error
    try:
        system, path = fs.FileSystem.from_uri(address)
        return system, str(path)
    except (ArrowInvalid, ArrowNotImplementedError):
        pass  # fsspec may know it
    except OSError as error:
        raise InputError(f"{address}: cannot be opened ({reason(error)}); check the address") from error
    try:
        from fsspec.core import url_to_fs

        known, path = url_to_fs(address)
    except ModuleNotFoundError as error:
        raise MissingPart(f"{address}: needs the package fsspec; pip install 'polyseme[scale]'") from error
    except ImportError as error:  # fsspec names the package of the scheme
        raise MissingPart(f"{address}: {reason(error)}; install that package") from error
    except ValueError as error:
        raise InputError(
            f"{address}: {reason(error)}; give a path, or an address such as s3://bucket/folder"
        ) from error
    return fs.PyFileSystem(fs.FSSpecHandler(known)), str(path)


@contextmanager
def _explained(location: Location) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{location.shown}: cannot be opened ({reason(error)}); check the address") from error

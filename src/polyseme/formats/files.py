"""The files of a model: in a folder, in a zip or named one by one, read without unpacking to disk."""

import io
import json
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from polyseme.errors import FormatError, InputError, PolysemeError
from polyseme.files.gunzip import Gunzip

JsonObject = dict[str, Any]
"""A JSON object whose values are not checked yet."""
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
GZIP_SIGNATURE = b"\x1f\x8b"
ZIP_SIGNATURE = b"PK\x03\x04"
LARGEST_RATIO = 20
SMALL_ENTRY = 16 << 20
"""Files that unpack to at most this many bytes are accepted whatever their ratio; larger ones hardly compress."""
LARGEST_JSON, LARGEST_TEXT = 1 << 26, 1 << 27
"""Bytes. Settings and tables of words are smaller; as Python objects they take many times as much memory."""


def check_unpacked(where: str, packed: int, unpacked: int) -> None:
    """Raise an error if a file would unpack to very many times its size."""
    if unpacked > max(SMALL_ENTRY, LARGEST_RATIO * packed):
        raise FormatError(
            f"{where}: {packed:,} bytes would unpack to {unpacked:,}, more than {LARGEST_RATIO} times as many; refused "
            "as unsafe"
        )


class Files:
    """Files by name. ``where`` is the name of the whole collection in messages."""

    def __init__(self, paths: Mapping[str, Path], *, where: str) -> None:
        self.where = where
        self._paths = dict(paths)

    @classmethod
    def folder(cls, path: Path) -> "Files":
        """The files directly in a folder."""
        try:
            paths = {entry.name: entry for entry in sorted(path.iterdir()) if entry.is_file()}
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); check who may read it") from error
        return cls(paths, where=str(path))

    @property
    def names(self) -> list[str]:
        """Names, sorted."""
        return sorted(self._paths)

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading; seekable."""
        if name not in self._paths:
            raise self.missing(name)
        try:
            return self._paths[name].open("rb")
        except OSError as error:
            raise InputError(f"{self.shown(name)}: cannot be read ({error.strerror})") from error

    def shown(self, name: str) -> str:
        """The name of a file in messages; it may be missing."""
        return str(self._paths.get(name, Path(self.where, name)))

    def location(self, name: str) -> Path:
        """The path of a file, for formats that are memory-mapped."""
        if name not in self._paths:
            raise self.missing(name)
        return self._paths[name]

    def missing(self, name: str) -> FormatError:
        """The error that says that a file is not there."""
        return FormatError(f"{self.where}: {name} is missing, which this model needs; get the whole model again")

    def plus(self, more: Mapping[str, Path]) -> "Files":
        """These files and others, which must have different names."""
        return _Union(self, Files(more, where=self.where))

    def begins_with(self, name: str, signature: bytes) -> bool:
        """Whether a file begins with these bytes."""
        with self.open(name) as file:
            return file.read(len(signature)) == signature

    def content(self, name: str, most: int = -1) -> bytes:
        """The bytes of a file, or only the first ones; unpacked if it is a gzip file."""
        packed = self.begins_with(name, GZIP_SIGNATURE)
        with self.open(name) as file:
            if not packed:
                return file.read(most)
            largest = max(SMALL_ENTRY, LARGEST_RATIO * file.seek(0, io.SEEK_END))
            file.seek(0)
            try:
                with io.BufferedReader(Gunzip(file)) as inner:
                    content = inner.read(largest + 1 if most < 0 else min(most, largest + 1))
            except (OSError, EOFError, zlib.error) as error:
                raise FormatError(f"{self.shown(name)}: a damaged gzip file ({error}); fetch it again") from error
        if len(content) > largest:
            raise FormatError(f"{self.shown(name)}: would unpack to more than {largest:,} bytes; refused as unsafe")
        return content

    def text(self, name: str, largest: int = LARGEST_TEXT) -> str:
        """Read a whole text file of at most ``largest`` bytes."""
        content = self.content(name, largest + 1)
        if len(content) > largest:
            raise FormatError(f"{self.shown(name)}: more than {largest:,} bytes, too many for its kind; refused")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.shown(name)}: byte {error.start} is not UTF-8 text; expected text") from error

    def json(self, name: str) -> JsonObject:
        """Read a whole JSON file, which must contain an object."""
        try:
            value = json.loads(self.text(name, LARGEST_JSON))
        except ValueError as error:
            if isinstance(error, PolysemeError):
                raise
            raise FormatError(f"{self.shown(name)}: not JSON ({error})") from error
        except RecursionError as error:
            raise FormatError(f"{self.shown(name)}: not JSON that can be read (nested too deeply)") from error
        if not isinstance(value, dict):
            raise FormatError(
                f"{self.shown(name)}: holds a JSON {type(value).__name__}, expected an object of settings"
            )
        return value

    def json_or_none(self, name: str) -> JsonObject | None:
        """Return the JSON object in a file, or None if there is none; for recognising formats."""
        try:
            return self.json(name)
        except FormatError:
            return None


class ZipFiles(Files):
    """The files in a zip. Nothing is unpacked to disk."""

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise FormatError(f"{path}: a damaged or truncated zip ({error}); fetch it again") from error
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._places: dict[str, list[str]] = {}
        for entry in self._zip.infolist():
            inner = PurePosixPath(entry.filename.replace("\\", "/"))
            if inner.is_absolute() or ".." in inner.parts or (inner.parts and inner.parts[0].endswith(":")):
                raise FormatError(f"{path}: entry {entry.filename!r} points outside the archive; refused as unsafe")
            litter = inner.name.startswith("._") or "__MACOSX" in inner.parts  # files that macOS adds to zips
            is_file = inner.name and not entry.filename.endswith("/") and not stat.S_ISLNK(entry.external_attr >> 16)
            if is_file and not litter:
                self._entries.setdefault(inner.name, entry)
                self._places.setdefault(inner.name, []).append(entry.filename)

    @property
    def names(self) -> list[str]:
        """Base names, sorted."""
        return sorted(self._entries)

    def open(self, name: str) -> BinaryIO:
        """Open an entry: in place if it is not compressed, else unpacked into memory, since it must be seekable."""
        entry = self._entries.get(name)
        if entry is None:
            raise self.missing(name)
        if len(places := self._places[name]) > 1:
            raise InputError(
                f"{self.where}: {name} is in it {len(places)} times ({', '.join(places[:3])}), expected one model; "
                "unpack it and name the folder you mean"
            )
        check_unpacked(self.shown(name), entry.compress_size, entry.file_size)
        file = self._zip_open(name)
        if entry.compress_type == zipfile.ZIP_STORED:
            return cast("BinaryIO", file)
        with file:
            # Only as much as the entry declares: asked for everything, Python would unpack gigabytes first.
            return io.BytesIO(self._zip_read(name, file, entry.file_size))

    def location(self, name: str) -> Path:
        """Raise an error, since an entry of a zip has no path of its own."""
        raise FormatError(f"{self.where}: {name} cannot be read within a zip; unpack it first")

    def begins_with(self, name: str, signature: bytes) -> bool:
        """Whether an entry begins with these bytes, without unpacking the rest."""
        with self._zip_open(name) as file:
            return self._zip_read(name, file, len(signature)) == signature

    def _zip_open(self, name: str) -> IO[bytes]:
        if self._entries[name].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Python unpacks the others (bzip2, lzma) without a limit.
            raise FormatError(f"{self.shown(name)}: packed in another way than usual in a zip; unpack it first")
        try:
            return self._zip.open(self._entries[name])
        except RuntimeError as error:  # includes NotImplementedError, for a compression that Python does not support
            raise FormatError(f"{self.shown(name)}: encrypted or packed in an unknown way; unpack it first") from error
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise FormatError(f"{self.shown(name)}: a damaged zip entry ({error}); fetch it again") from error

    def _zip_read(self, name: str, file: IO[bytes], size: int = -1) -> bytes:
        try:
            return file.read(size)
        except Exception as error:  # zlib, bz2 and lzma raise errors of their own on damaged data
            raise FormatError(f"{self.shown(name)}: a damaged zip entry ({error}); fetch it again") from error

    def shown(self, name: str) -> str:
        """The name of an entry in messages; it may be missing."""
        return f"{self.where}!{self._entries[name].filename if name in self._entries else name}"


class _Union(Files):
    """Two collections of files as one."""

    def __init__(self, first: Files, second: Files) -> None:
        self.where = first.where
        self._sets = (second, first)

    def _holder(self, name: str) -> Files:
        return next((files for files in self._sets if name in files.names), self._sets[-1])

    @property
    def names(self) -> list[str]:
        """The names in both, sorted."""
        return sorted({name for files in self._sets for name in files.names})

    def open(self, name: str) -> BinaryIO:
        """Open a file from either."""
        return self._holder(name).open(name)

    def shown(self, name: str) -> str:
        """The name of a file in messages."""
        return self._holder(name).shown(name)

    def location(self, name: str) -> Path:
        """The path of a file from either."""
        return self._holder(name).location(name)

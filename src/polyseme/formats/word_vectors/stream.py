"""Reads the bytes of a file, compressed or not, and keeps the position in it."""

import io
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from polyseme.errors import FormatError, InputError
from polyseme.files.gunzip import Gunzip
from polyseme.formats.files import check_unpacked

CHUNK = 1 << 22
_GZIP = b"\x1f\x8b"


class Stream:
    """Reads a file in order; gzip is recognised by its magic number.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.offset = 0
        """Number of bytes read so far, counted after decompression."""
        self._ahead = b""
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); expected a file of word vectors") from error
        self._stream: BinaryIO = self._file
        self._size = path.stat().st_size
        self.compressed = False
        self.compressed = self.peek(len(_GZIP)) == _GZIP
        if self.compressed:
            self._file.seek(0)
            self._ahead = b""
            # The buffer makes small reads of gzip cheap.
            self._stream = cast("BinaryIO", io.BufferedReader(Gunzip(self._file)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def peek(self, size: int) -> bytes:
        """Return the next bytes without reading past them."""
        while len(self._ahead) < size and (more := self._take(size - len(self._ahead))):
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = CHUNK) -> bytes:
        """Read at most this many bytes; none at the end."""
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        data = data or self._take(size)
        self.offset += len(data)
        return data

    def _take(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(
                f"{self.name}: cannot be read after byte {self.offset + len(self._ahead):,} ({error}); the file is "
                "damaged or truncated, fetch it again"
            ) from error
        if self.compressed:
            check_unpacked(self.name, self._size, self.offset + len(self._ahead) + len(data))
        return data

"""Unpacks gzip files that are not trusted."""

import io
import zlib
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_BLOCK = 1 << 13
_ZEROS = 1 << 16
_PIECE = 1 << 15
_GZIP_WINDOW = 31  # a gzip header and checksum around the data
_CUT = "the file ends before its data do"


class Gunzip(io.RawIOBase):
    """The content of a gzip file, one member after the other.

    Zeros behind the last member are passed over a block at a time. Python's own reader takes them one by one: minutes
    for a file of some hundred megabytes that are not even on the disk.

    Args:
        stream: The packed bytes; it is not closed.

    Example:
        >>> import gzip
        >>> packed = gzip.compress(b"The river ") + gzip.compress(b"bank") + bytes(100)
        >>> io.BufferedReader(Gunzip(io.BytesIO(packed))).read()
        b'The river bank'
    """

    def __init__(self, stream: BinaryIO | io.BufferedIOBase) -> None:
        self._stream = stream
        self._packed: bytes = b""
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._piece = _PIECE

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Unpack some bytes; 0 at the end.

        Raises:
            EOFError: The file is truncated.
            OSError: Something else follows a member.
            zlib.error: The data are damaged.
        """
        view = memoryview(buffer)
        while True:
            if self._member.eof and not self._next_member():
                return 0
            if not self._packed:
                self._packed = self._stream.read(_BLOCK)
                if not self._packed:
                    raise EOFError(_CUT)
            data = self._unpack(self._packed, min(len(view), self._piece))
            if data:
                view[: len(data)] = data
                return len(data)

    def _unpack(self, packed: "ReadableBuffer", most: int) -> bytes:
        before = self._member.copy()
        try:
            data = self._member.decompress(packed, most)
        except zlib.error:
            if most == 1:
                raise
            self._member, self._piece = before, 1  # what comes before the damaged place is given first
            return self._unpack(packed, 1)
        self._packed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return data

    def _next_member(self) -> bool:
        """Begin the next member, behind any zeros; false if there is none."""
        self._packed = self._packed.lstrip(b"\0")
        while not self._packed:
            more = self._stream.read(_ZEROS)
            if not more:
                return False
            self._packed = more.lstrip(b"\0")
        if not self._packed.startswith(b"\x1f"):
            raise OSError(f"{self._packed[:2]!r} where a gzip file should go on or end")
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        return True

"""Turns bytes into lines: decompresses, decodes, and repairs what is not text. Nothing is read before it is needed."""

import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyseme.errors import InputError
from polyseme.files.gunzip import Gunzip
from polyseme.text.not_text import check_text
from polyseme.text.repairs import LONG_LINE, Repairs

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# A whole sentence must fit into memory, so the length of a line is limited.
LONGEST_LINE = 2**24
GZIP = b"\x1f\x8b"
"""What a file compressed by gzip begins with."""

_UNREADABLE = (OSError, EOFError, zlib.error)
_HEAD = 4096


class Lines:
    """The lines of one source, decoded and repaired, with the position of the line read last.

    Lines end at LF, CR LF or CR. A byte order mark is dropped.

    Args:
        stream: The bytes; gzip is recognised by its magic number.
        name: The name of the source in messages.
        repairs: Counts the repairs.
        continues: Whether the bytes continue a file: then they are text whatever they begin with.
    """

    def __init__(self, stream: io.BufferedIOBase, *, name: str, repairs: Repairs, continues: bool = False) -> None:
        self.name = name
        self.repairs = repairs
        self.number = 0
        self._line_open, self._length = False, 0
        peeked = _Peeked(stream)
        if not continues:
            if peeked.head.startswith(GZIP):
                peeked = _Peeked(io.BufferedReader(Gunzip(io.BufferedReader(peeked))))
            check_text(peeked.head, name)
        self.head = peeked.head
        # surrogateescape keeps invalid bytes as surrogates, so that they can be counted with their line.
        self._text = io.TextIOWrapper(
            io.BufferedReader(peeked, 2**16), "utf-8" if continues else "utf-8-sig", "surrogateescape"
        )

    @property
    def place(self) -> str:
        """The position of the line read last, as ``file:line``."""
        return f"{self.name}:{self.number}"

    def readline(self, limit: int) -> str:
        """The next line with its line feed, or the first ``limit`` characters of it; "" after the last line."""
        line = ""
        while len(line) < limit:  # repaired text may be shorter than what was read
            try:
                text = self._text.readline(limit - len(line))
            except _UNREADABLE as error:
                self.number += not self._line_open
                raise InputError(
                    f"{self.place}: cannot be read further: {error}; the file is damaged or truncated, fetch it again"
                ) from error
            if not text:
                break
            self.number += not self._line_open
            self._judge_length(text)
            self._line_open = not text.endswith("\n")
            line += self.repairs.mend(text, self.place)
            if not self._line_open:
                break
        return line

    def _judge_length(self, text: str) -> None:
        """Count a line when it becomes very long."""
        before = self._length if self._line_open else 0
        self._length = before + len(text)
        self.repairs.characters += len(text)
        if before <= LONG_LINE < self._length:
            self.repairs.count(f"lines of more than {LONG_LINE:,} characters", self.place)

    def __iter__(self) -> Iterator[str]:
        """Yield whole lines without their line ends."""
        while line := self.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise InputError(
                    f"{self.place}: a line of {LONGEST_LINE:,} or more characters, but one sentence is expected; "
                    "break it up, or tokenize it as running text"
                )
            yield line.removesuffix("\n")


class _Peeked(io.RawIOBase):
    """A stream whose first bytes are known before it is read; an error in them is raised when they are read."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self._error: BaseException | None = None
        self.head = b""
        try:
            while len(self.head) < _HEAD and (more := stream.read1(_HEAD - len(self.head))):
                self.head += more
        except _UNREADABLE as error:
            self._error = error
        self._unread = self.head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        if self._unread:
            data, self._unread = self._unread[: len(view)], self._unread[len(view) :]
        elif self._error:
            raise self._error
        else:
            # One read at most, so that what was decompressed before a damaged position is still returned.
            data = self._stream.read1(len(view))
        view[: len(data)] = data
        return len(data)

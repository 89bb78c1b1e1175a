"""Turns bytes into lines: decompresses, decodes, and repairs what is not text. Nothing is read before it is needed."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyseme.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# A whole sentence must fit into memory, so the length of a line is limited.
LONGEST_LINE = 2**24

_UNREADABLE = (OSError, EOFError, zlib.error)
_BYTE_ORDER_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_HEAD = 4096
_MOST_BROKEN = 0.3
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_A_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


@dataclass(slots=True)
class Repairs:
    """Counts what was replaced by U+FFFD because it is not text; false if nothing was.

    Example:
        >>> str(Repairs(invalid=3, nulls=1, first="news.txt:12"))
        '3 invalid UTF-8 sequences and 1 NUL replaced by U+FFFD, the first at news.txt:12'
    """

    invalid: int = 0
    """Number of byte sequences that are not UTF-8."""
    nulls: int = 0
    """Number of NUL characters."""
    first: str | None = None
    """The position of the first replacement, as ``file:line``."""

    def __bool__(self) -> bool:
        return self.first is not None

    def __str__(self) -> str:
        counts = ((self.invalid, "invalid UTF-8 sequence"), (self.nulls, "NUL"))
        parts = [f"{count:,} {what}{'s' * (count > 1)}" for count, what in counts if count]
        return f"{' and '.join(parts)} replaced by U+FFFD, the first at {self.first}" if parts else "nothing replaced"

    def mend(self, text: str, place: str) -> str:
        """Replace and count NULs and lone surrogates (which stand for bytes that could not be decoded)."""
        if "\0" not in text and (text.isascii() or not _SURROGATE.search(text)):
            return text
        # The original bytes are decoded again because several of them may form one invalid sequence.
        original = _NOT_A_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape")
        mended = original.decode("utf-8", "replace").replace("\0", "\ufffd")
        nulls = text.count("\0")
        self.nulls += nulls
        self.invalid += mended.count("\ufffd") - text.count("\ufffd") - nulls
        self.first = self.first or place
        return mended


class Lines:
    """The lines of one source, decoded and repaired, with the position of the line read last.

    Lines end at LF, CR LF or CR. A byte order mark is dropped.

    Args:
        stream: The bytes; gzip is recognised by its magic number.
        name: The name of the source in messages.
        repairs: Counts the repairs.
    """

    def __init__(self, stream: io.BufferedIOBase, *, name: str, repairs: Repairs) -> None:
        self.name = name
        self.repairs = repairs
        self.number = 0
        self._line_open = False
        peeked = _Peeked(stream)
        if peeked.head.startswith(b"\x1f\x8b"):
            peeked = _Peeked(gzip.GzipFile(fileobj=io.BufferedReader(peeked)))
        _check_text(peeked.head, name)
        # surrogateescape keeps invalid bytes as surrogates, so that they can be counted with their line.
        self._text = io.TextIOWrapper(io.BufferedReader(peeked, 2**16), "utf-8-sig", "surrogateescape")

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
            self._line_open = not text.endswith("\n")
            line += self.repairs.mend(text, self.place)
            if not self._line_open:
                break
        return line

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


def _check_text(head: bytes, name: str) -> None:
    """Raise an error if the bytes are clearly not UTF-8 text."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise InputError(f"{name}: is {encoding}; convert it first: iconv -f {encoding} -t UTF-8")
    text = head.decode("utf-8", "replace")
    broken = text.count("\ufffd") - head.count("\ufffd".encode()) + text.count("\0")
    if broken > _MOST_BROKEN * len(text):
        raise InputError(
            f"{name}: does not look like text: {broken:,} of its first {len(text):,} characters are not UTF-8; "
            "give UTF-8 text, and convert text in another encoding first"
        )

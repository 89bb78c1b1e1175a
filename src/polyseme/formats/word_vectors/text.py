"""Reads GloVe, word2vec and fastText text: one word and its numbers per line, with or without a header."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import FormatError
from polyseme.formats.word_vectors.stream import Stream
from polyseme.formats.word_vectors.table import GrowingTable, Header
from polyseme.models.static import WordVectors

_LONGEST_LINE = 1 << 26
_SAMPLED_LINES = 1000
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# A number with this many digits is part of a vector; a short one may end a word with spaces ("windows 8.1").
_COMPONENT = re.compile(rb"[-+]?\d*\.\d{3,}(?:[eE][-+]?\d+)?|[-+]?\d+\.?\d*[eE][-+]\d+")
_CONTROL = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")
_TO_DO = "the line is damaged or the file truncated: fetch it again, or delete the line"


def begins_as_text(after_header: bytes) -> bool:
    """Whether the bytes after a header are text, perhaps with a damaged line, and not binary numbers."""
    if _numbers_at_end(after_header.split(b"\n", 1)[0].split()) > 1:
        return True
    # A binary number has control characters or is not UTF-8, except a few whose bytes are all letters.
    start = after_header[:4096]
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 4:  # not just a character truncated at the end of the sample
            return False
    return not _CONTROL.search(start)


def read(stream: Stream, head: bytes, header: Header | None, *, limit: int | None) -> WordVectors:
    """Read the lines after the header, if there is one.

    Args:
        stream: The file, read up to the first line of vectors.
        head: The next bytes of the file.
        header: The values in the first line, if it was a header.
        limit: Read only this many words.
    """
    lines_before = 0 if header is None else 1
    reader = _Reader(stream.name, _dim_without_header(head, stream.name) if header is None else header.dim, header)
    table = GrowingTable(reader.dim, name=stream.name, limit=limit)
    for first, lines in _blocks(stream, lines_before + 1):
        words, rows = reader.parse(lines, first)
        table.add(words, rows)
        if table.full:
            break
        if header is not None and table.lines > header.words:
            surplus = [number for number, line in enumerate(lines, first) if line.strip()][header.words - table.lines]
            raise FormatError(
                f"{stream.name}:{surplus}: one word more than the {header.words:,} in the header on line 1; "
                "correct line 1, or fetch the file again"
            )
    else:
        if header is not None and table.lines < header.words:
            raise FormatError(
                f"{stream.name}: ends after {table.lines:,} words, but the header on line 1 says {header.words:,}; "
                "the file is truncated or its header wrong: fetch it again, or correct line 1"
            )
    return table.finish("GloVe text" if header is None else "word2vec text")


class _Reader:
    """Parses lines into words and numbers."""

    def __init__(self, name: str, dim: int, header: Header | None) -> None:
        self.dim = dim
        self._name = name
        self._why = "as most of the first lines have" if header is None else "as the header on line 1 says"

    def parse(self, lines: Sequence[bytes], first: int) -> tuple[list[bytes], Vectors]:
        """Return the word and the vector of every line that is not blank; ``first`` is the first line's number."""
        words: list[bytes] = []
        vectors: list[bytes] = []
        for number, line in enumerate(lines, first):
            line = line.rstrip()  # fastText ends its lines with a space
            if line.count(b" ") == self.dim:
                word, vector = line.split(b" ", 1)
            elif line:
                word, vector = self._unusual(line, number)
            else:
                continue
            words.append(word)
            vectors.append(vector)
        if not words:
            return [], np.empty((0, self.dim), dtype=np.float32)
        try:
            # Read by numpy in C: several times faster than float() of each number.
            rows = np.loadtxt(vectors, dtype=np.float32, delimiter=" ", comments=None, ndmin=2, encoding="latin1")
        except ValueError as error:
            self._raise_for_line(lines, first, str(error))
        if rows.shape != (len(words), self.dim) or not np.isfinite(rows).all():
            self._raise_for_line(lines, first, f"numbers of shape {rows.shape}")
        return words, rows

    def _unusual(self, line: bytes, number: int) -> tuple[bytes, bytes]:
        """Parse a line with spaces in its word, or with tabs or several spaces between numbers."""
        word, *fields = line.rsplit(None, self.dim)
        if _numbers_at_end(fields) == self.dim and not _COMPONENT.fullmatch(word.rsplit(None, 1)[-1]):
            return word, b" ".join(fields)
        raise self._ragged(line, number)

    def _raise_for_line(self, lines: Sequence[bytes], first: int, otherwise: str) -> NoReturn:
        """Raise an error that names the line numpy could not read."""
        for number, line in enumerate(lines, first):
            word, *fields = line.rsplit(None, self.dim) or [b""]
            if line.strip() and len(fields) < self.dim:
                raise self._ragged(line, number)
            for field in fields:
                if not _NUMBER.fullmatch(field) or abs(float(field)) > float(np.finfo(np.float32).max):
                    raise FormatError(
                        f"{self._name}:{number}: {_shown(field)} in the vector of {_shown(word)}, expected "
                        f"{self.dim} finite numbers {self._why}; {_TO_DO}"
                    )
        raise FormatError(
            f"{self._name}:{first} and the lines after it: {otherwise}; expected {self.dim} numbers per line"
        )

    def _ragged(self, line: bytes, number: int) -> FormatError:
        word, *fields = line.split()
        return FormatError(
            f"{self._name}:{number}: the line that begins with {_shown(word)} ends in {_numbers_at_end(fields)} "
            f"numbers, expected {self.dim} {self._why}; {_TO_DO}"
        )


def _blocks(stream: Stream, number: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield a few megabytes of lines at a time, with the number of the first line."""
    rest = b""
    while data := stream.read():
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        if lines:
            yield number, lines
            number += len(lines)
        if len(rest) > _LONGEST_LINE:
            raise FormatError(
                f"{stream.name}:{number}: a line of more than {_LONGEST_LINE:,} bytes; expected a word and its numbers"
            )
    if rest:
        yield number, [rest]


def usual_dim(head: bytes) -> int:
    """The number of numbers at the end of most of the first lines; 0 if there are none.

    Of equally frequent counts the smallest is returned, since words may end in a number.
    """
    lines = head.split(b"\n", _SAMPLED_LINES)
    if len(lines) > 1:
        lines.pop()  # it may be truncated
    counts = Counter(_numbers_at_end(line.split()[1:]) for line in lines if line.strip())
    return min(counts, key=lambda count: (-counts[count], count), default=0)


def _dim_without_header(head: bytes, name: str) -> int:
    dim = usual_dim(head)
    if not dim:
        raise FormatError(
            f"{name}: not word vectors: most of its first lines do not end in a number; expected GloVe or fastText "
            "text, word2vec text or binary, or a folder written by StaticVectors.save"
        )
    return dim


def _numbers_at_end(fields: Sequence[bytes]) -> int:
    for count, field in enumerate(reversed(fields)):
        if not _NUMBER.fullmatch(field):
            return count
    return len(fields)


def _shown(part: bytes) -> str:
    return f"{part.decode('utf-8', 'replace')!r:.60}"

"""word2vec binary: a header line, then each word, a space and its numbers as 32-bit floats."""

from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import FormatError
from polyseme.formats.word_vectors.stream import Stream
from polyseme.formats.word_vectors.table import GrowingTable, Header
from polyseme.models.static import WordVectors

_LONGEST_WORD = 1 << 16
_WRONG = "the header's numbers are wrong or the file is damaged; fetch it again"


def read(stream: Stream, header: Header, *, limit: int | None) -> WordVectors:
    """Read the words and vectors after the header.

    The original software ends each vector with a line feed and gensim does not; both are read.

    Args:
        stream: The file, read up to the end of the header.
        header: The values in the header.
        limit: Read only this many words.
    """
    table = GrowingTable(header.dim, name=stream.name, limit=limit)
    buffer = b""
    while table.lines < header.words and not table.full:
        place = stream.offset - len(buffer)
        data = stream.read()
        if not data:
            raise FormatError(
                f"{stream.name}: ends at byte {stream.offset:,} within word {table.lines + 1:,} of the "
                f"{header.words:,} in its header, each with {header.dim} numbers; the file is truncated, fetch "
                "it again"
            )
        buffer += data
        buffer = buffer[_add_words(table, buffer, header, where=stream.name, place=place) :]
    if not table.full and (buffer or stream.peek(2)).strip():
        raise FormatError(
            f"{stream.name}: continues at byte {stream.offset - len(buffer):,} after the {header.words:,} words of "
            f"{header.dim} numbers in its header; {_WRONG}"
        )
    return table.finish("word2vec binary")


def _add_words(table: GrowingTable, buffer: bytes, header: Header, *, where: str, place: int) -> int:
    """Add the words whose vectors are whole in a buffer, which begins at a place of the file; gives where they end."""
    words: list[bytes] = []
    starts: list[int] = []  # of the vectors in the buffer
    end = 0
    for word, start in _whole_words(buffer, 4 * header.dim, header.words - table.lines):
        if start < 0:
            _not_a_word(where, place + end, table.lines + len(words))
        words.append(word)
        starts.append(start)
        end = start + 4 * header.dim
    rows = _vectors(buffer, starts, header.dim)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        shown = words[first := int(bad[0])].decode("utf-8", "replace")
        raise FormatError(
            f"{where}: byte {place + starts[first]:,}: the vector of word {table.lines + first + 1:,} "
            f"({shown!r:.60}) holds NaN or infinity; expected {header.dim} finite numbers; {_WRONG}"
        )
    table.add(words, rows)
    return end


def _vectors(buffer: bytes, starts: Sequence[int], dim: int) -> Vectors:
    """The vectors (U, D) that begin at these positions."""
    numbers = b"".join([buffer[start : start + 4 * dim] for start in starts])
    return np.frombuffer(numbers, dtype="<f4").reshape(-1, dim)


def _whole_words(buffer: bytes, width: int, most: int) -> Iterator[tuple[bytes, int]]:
    """Return each word whose vector is complete in the buffer, and the start of its vector; -1 if there is no word."""
    start = 0
    for _ in range(most):
        space = buffer.find(b" ", start, start + _LONGEST_WORD)
        if space < 0 and len(buffer) - start >= _LONGEST_WORD:
            yield b"", -1
        if space < 0 or space + 1 + width > len(buffer):
            return
        word = buffer[start:space].lstrip(b"\n")
        yield word, -1 if b"\n" in word else space + 1
        start = space + 1 + width


def _not_a_word(name: str, place: int, words: int) -> NoReturn:
    raise FormatError(f"{name}: byte {place:,}: no word and space where word {words + 1:,} should begin; {_WRONG}")

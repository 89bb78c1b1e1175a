"""word2vec binary: a header line, then each word, a space and its numbers as 32-bit floats."""

import numpy as np

from polyseme.errors import FormatError
from polyseme.formats.word_vectors.stream import Stream
from polyseme.formats.word_vectors.table import GrowingTable, Header
from polyseme.models.static import WordVectors

_LONGEST_WORD = 1 << 16
_WRONG = "the header's numbers are wrong or the file is damaged; fetch it again"


def read(stream: Stream, header: Header, *, limit: int | None) -> WordVectors:
    """Read what follows the header.

    The original software ends each vector with a line feed and gensim does not; either is read.

    Args:
        stream: The file, which stands after the header.
        header: What the header said.
        limit: Only so many words.
    """
    table = GrowingTable(header.dim, name=stream.name, limit=limit)
    width = 4 * header.dim
    buffer = b""
    while table.lines < header.words and not table.full:
        place = stream.offset - len(buffer)
        data = stream.read()
        if not data:
            raise FormatError(
                f"{stream.name}: ends at byte {stream.offset:,} within word {table.lines + 1:,} of the "
                f"{header.words:,} that its header says, each with {header.dim} numbers; the file is cut off, fetch "
                "it again"
            )
        buffer += data
        words: list[bytes] = []
        starts: list[int] = []  # of the vectors in the buffer
        start = 0
        while table.lines + len(words) < header.words:
            space = buffer.find(b" ", start, start + _LONGEST_WORD)
            end = space + 1 + width
            if space < 0 and len(buffer) - start >= _LONGEST_WORD:
                _not_a_word(stream.name, place + start, table.lines + len(words))
            if space < 0 or end > len(buffer):
                break
            word = buffer[start:space].lstrip(b"\n")
            if b"\n" in word:
                _not_a_word(stream.name, place + start, table.lines + len(words))
            words.append(word)
            starts.append(space + 1)
            start = end
        vectors = b"".join([buffer[start : start + width] for start in starts])
        rows = np.frombuffer(vectors, dtype="<f4").reshape(-1, header.dim)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            bad = int(np.argmin(finite))
            raise FormatError(
                f"{stream.name}: byte {place + starts[bad]:,}: the vector of word {table.lines + bad + 1:,} "
                f"({words[bad].decode('utf-8', 'replace')!r:.60}) holds NaN or infinity; expected {header.dim} finite "
                f"numbers; {_WRONG}"
            )
        table.add(words, rows)
        buffer = buffer[start:]
    if not table.full and (buffer or stream.peek(2)).strip():
        raise FormatError(
            f"{stream.name}: goes on at byte {stream.offset - len(buffer):,} after the {header.words:,} words of "
            f"{header.dim} numbers that its header says; {_WRONG}"
        )
    return table.finish("word2vec binary")


def _not_a_word(name: str, place: int, words: int) -> None:
    raise FormatError(f"{name}: byte {place:,}: no word and space where word {words + 1:,} should begin; {_WRONG}")

"""How texts and vectors are written in PostgreSQL's own formats, and read back."""

import hashlib
import re
import struct
from collections.abc import Sequence

import numpy as np

from polyseme.arrays import HalfVectors, Numbers, Vectors

_ODD = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_END = struct.pack(">h", -1)
NOTHING = 0
"""The number of a document or a label that is not known."""


def to_text(text: str) -> str:
    """A text as PostgreSQL can store it: NUL and halves of surrogate pairs are escaped, and so is the backslash."""
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def from_text(stored: str) -> str:
    """What `to_text` was given."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), stored) if "\\" in stored else stored


def key(text: str) -> bytes:
    """A digest that stands for a text in an index, which cannot hold long ones."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_parameter(query: Vectors) -> str:
    """A vector (D,) as pgvector reads it."""
    return "[" + ",".join(f"{value:.8g}" for value in query.tolist()) + "]"


def half_rows(stored: Sequence[bytes], dim: int) -> Vectors:
    """Vectors (n, D) from what ``halfvec_send`` gives."""
    return _rows(stored, dim, ">f2")


def single_row(stored: bytes, dim: int) -> Vectors:
    """A vector (D,) from what ``vector_send`` gives."""
    row: Vectors = _rows([stored], dim, ">f4")[0]
    return row


def occurrence_rows(numbers: Numbers, vectors: HalfVectors) -> bytes:
    """Rows of the table of occurrences for a binary COPY.

    Args:
        numbers: (N, 6) the columns id, sentence, position, word, document and label.
        vectors: (N, D)
    """
    count, dim = vectors.shape
    columns = [(f"{place}", [("size", ">i4"), ("value", ">i8" if place < 2 else ">i4")]) for place in range(6)]
    half = [("size", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("value", ">f2", (dim,))]
    rows = np.zeros(count, dtype=[("columns", ">i2"), *columns, ("half", half)])
    rows["columns"] = 7
    for place in range(6):
        rows[f"{place}"]["size"] = 8 if place < 2 else 4
        rows[f"{place}"]["value"] = numbers[:, place]
    rows["half"]["size"], rows["half"]["dim"], rows["half"]["value"] = 4 + 2 * dim, dim, vectors
    return _HEAD + rows.tobytes() + _END


def _rows(stored: Sequence[bytes], dim: int, kind: str) -> Vectors:
    """Each vector is its width, two bytes that are not used, and its numbers."""
    if any(len(one) != 4 + dim * np.dtype(kind).itemsize for one in stored):
        raise ValueError(f"not vectors of {dim} numbers")
    joined = b"".join(one[4:] for one in stored)
    rows: Vectors = np.frombuffer(joined, dtype=kind).reshape(len(stored), dim).astype(np.float32)
    return rows

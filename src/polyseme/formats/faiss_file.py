"""Checks a file of vectors before faiss opens it.

Faiss trusts the sizes in a file: a few wrong bytes make it ask for terabytes of memory, or read beyond an array. Of the
many layouts of faiss, only those that polyseme writes are accepted: codes of 8 bits or float16 (``IxSQ``), the same in
clusters (``IwSq``), and product quantisation in clusters (``IwPQ``), all with inner product. Every size in the file
must be the one that follows from the number and the width of the vectors.
"""

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from polyseme.errors import FormatError

_INNER_PRODUCT = 0
_EIGHT_BITS, _FLOAT16 = 0, 4
_SIZES = 1 << 20
"""Sizes of clusters that are read at once."""


def check_faiss(path: Path, *, count: int, dim: int, advice: str) -> None:
    """Raise an error if a file is not a complete index of ``count`` vectors of width ``dim``.

    Args:
        path: The file.
        count: How many vectors it should hold.
        dim: Their width.
        advice: What to do if it does not, as the end of a sentence.

    Raises:
        FormatError: It is something else, or damaged.
    """
    try:
        with path.open("rb") as file:
            _Layout(file, path.stat().st_size).check(count, dim)
    except (_Wrong, OSError) as error:
        raise FormatError(
            f"{path}: not {count:,} vectors of {dim} numbers as faiss stores them ({error}); {advice}"
        ) from None


class _Wrong(Exception):  # noqa: N818
    """The file does not have this layout."""


class _Layout:
    """Reads a file in the order in which faiss writes it."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size

    def check(self, count: int, dim: int) -> None:
        kind = self._bytes(4)
        self._header(count, dim)
        if kind == b"IxSQ":
            self._skip(self._expect("the size of the codes", "Q", count * self._scalar_quantizer(dim)))
        elif kind in (b"IwSq", b"IwPQ"):
            clusters = self._clusters(dim)
            code = self._product_quantizer(dim) if kind == b"IwPQ" else self._scalar_quantizer(dim)
            if kind == b"IwSq":
                self._expect("the size of a code", "Q", code)
                self._flag()
            self._lists(clusters, code, count)
        else:
            raise _Wrong(f"it begins with {kind!r}")
        if self._file.tell() != self._size:
            raise _Wrong(f"{self._size - self._file.tell():,} bytes too many")

    def _header(self, count: int, dim: int) -> None:
        self._expect("the width", "i", dim)
        self._expect("the number of vectors", "q", count)
        self._read("qq")  # not used by faiss
        if not self._flag():
            raise _Wrong("it is not trained")
        self._expect("the metric", "i", _INNER_PRODUCT)

    def _clusters(self, dim: int) -> int:
        """Read the list of clusters with their centroids; return their number."""
        clusters, _ = self._read("QQ")
        if not 1 <= clusters <= self._size:
            raise _Wrong(f"{clusters:,} clusters")
        if (kind := self._bytes(4)) != b"IxFI":
            raise _Wrong(f"its centroids begin with {kind!r}")
        self._header(clusters, dim)
        self._skip(4 * self._expect("the size of the centroids", "Q", clusters * dim))
        self._expect("the map of the vectors", "B", 0)
        self._expect("the size of that map", "Q", 0)
        return int(clusters)

    def _scalar_quantizer(self, dim: int) -> int:
        """Return the number of bytes of one vector."""
        kind, _, _ = self._read("iif")
        if kind not in (_EIGHT_BITS, _FLOAT16):
            raise _Wrong(f"codes of kind {kind}")
        code = dim if kind == _EIGHT_BITS else 2 * dim
        self._expect("the width of the codes", "Q", dim)
        self._expect("the size of a code", "Q", code)
        self._skip(4 * self._expect("the number of ranges", "Q", 2 * dim if kind == _EIGHT_BITS else 0))
        return code

    def _product_quantizer(self, dim: int) -> int:
        """Return the number of bytes of one vector."""
        self._flag()
        (code,) = self._read("Q")
        if not 1 <= code <= dim or dim % code:
            raise _Wrong(f"{code:,} sub-vectors")
        self._expect("the width of the codes", "Q", dim)
        self._expect("the number of sub-vectors", "Q", code)
        self._expect("the bits of a sub-vector", "Q", 8)
        self._skip(4 * self._expect("the number of code words", "Q", 256 * dim))
        return int(code)

    def _lists(self, clusters: int, code: int, count: int) -> None:
        """Read the vectors, cluster by cluster: their codes and their ids."""
        if (kind := self._bytes(4)) != b"ilar":
            raise _Wrong(f"its clusters begin with {kind!r}")
        self._expect("the number of clusters", "Q", clusters)
        self._expect("the size of a code", "Q", code)
        if (kind := self._bytes(4)) == b"full":
            total = self._sum_of(self._expect("the number of sizes", "Q", clusters), step=1, clusters=clusters)
        elif kind == b"sprs":  # (number, size) of the clusters that hold a vector
            (numbers,) = self._read("Q")
            total = self._sum_of(numbers, step=2, clusters=clusters)
        else:
            raise _Wrong(f"its sizes begin with {kind!r}")
        if total != count:
            raise _Wrong(f"its clusters hold {total:,} vectors")
        self._skip(count * (code + 8))

    def _sum_of(self, numbers: int, *, step: int, clusters: int) -> int:
        if numbers % step or numbers > 2 * clusters:
            raise _Wrong(f"{numbers:,} sizes of {clusters:,} clusters")
        total = 0
        for start in range(0, numbers, _SIZES):
            part = np.frombuffer(self._bytes(8 * min(_SIZES, numbers - start)), dtype="<u8")
            if int(part[step - 1 :: step].max(initial=0)) > self._size:
                raise _Wrong("a cluster is larger than the file")
            if step == 2 and int(part[::2].max(initial=0)) >= clusters:
                raise _Wrong("a cluster that does not exist")
            total += int(part[step - 1 :: step].sum())
        return total

    def _flag(self) -> bool:
        (value,) = self._read("B")
        if value > 1:
            raise _Wrong(f"got {value}, expected 0 or 1")
        return bool(value)

    def _expect(self, what: str, kind: str, value: int) -> int:
        (found,) = self._read(kind)
        if found != value:
            raise _Wrong(f"{what} is {found:,}, expected {value:,}")
        return value

    def _read(self, kinds: str) -> tuple[int, ...]:
        return struct.unpack(f"<{kinds}", self._bytes(struct.calcsize(f"<{kinds}")))

    def _bytes(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise _Wrong("it ends too early")
        return found

    def _skip(self, size: int) -> None:
        if self._file.tell() + size > self._size:
            raise _Wrong("it ends too early")
        self._file.seek(size, 1)

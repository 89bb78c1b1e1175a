"""The bytes of HDF5 around the numbers of datasets: headers, groups and texts, in the oldest version of the format.

Every HDF5 library reads it, and it can be written after the numbers, which the library itself cannot do: a dataset is a
header that says where its numbers are. Names in capitals are those of the format's specification
("HDF5 File Format Specification Version 3.0"); all numbers are little-endian.
"""

import struct
from collections.abc import Sequence
from io import FileIO

import numpy as np
import numpy.typing as npt

from polyseme.embed.writers.base import write_all

U64 = np.dtype("<u8")
Places = npt.NDArray[np.uint64]

START = 96
"""The length of the superblock, after which anything may follow."""
NOWHERE = 0xFFFFFFFFFFFFFFFF
_LEAF, _NODE = 8, 32  # most entries of a symbol table node and of a node of the tree above
_FEW = 1 << 15  # of anything that is made in memory at once


def superblock(size: int, header: int, tree: int, heap: int) -> bytes:
    """The first bytes of a file: its size, and where the root group is."""
    versions = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0])
    sizes = struct.pack("<HHI", _LEAF // 2, _NODE // 2, 0)
    places = struct.pack("<4Q", 0, NOWHERE, size, NOWHERE)
    return versions + sizes + places + struct.pack("<QQII2Q", 0, header, 1, 0, tree, heap)


def _header(messages: Sequence[tuple[int, int, bytes]]) -> bytes:
    """An object header of version 1, from the types, flags and contents of its messages."""
    padded = [(kind, flags, content + bytes(-len(content) % 8)) for kind, flags, content in messages]
    body = b"".join(struct.pack("<HHB3x", kind, len(content), flags) + content for kind, flags, content in padded)
    return struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body


def _dataset(rank: int, kind: bytes, fill: bytes) -> bytes:
    """The header of a dataset, in which its lengths, its place and its size are still 0."""
    space = struct.pack("<BB6x", 1, rank) + bytes(8 * rank)
    return _header([(1, 0, space), (3, 1, kind), (5, 1, fill), (8, 0, struct.pack("<BBQQ", 3, 1, 0, 0))])


def _float(dtype: np.dtype[np.floating]) -> bytes:
    """The datatype message of an IEEE number."""
    size = dtype.itemsize
    mantissa, exponent = {2: (10, 5), 4: (23, 8), 8: (52, 11)}[size]
    sign = 8 * size - 1
    numbers = (size, 0, 8 * size, mantissa, exponent, 0, mantissa, (1 << (exponent - 1)) - 1)
    return bytes([0x11, 0x20, sign, 0]) + struct.pack("<IHHBBBBI", *numbers)


def dataset_headers(
    shapes: npt.NDArray[np.int64], places: Places, dtype: np.dtype[np.floating]
) -> npt.NDArray[np.uint8]:
    """Headers of datasets of float numbers, all of one length.

    Args:
        shapes: (N, R)
        places: (N,), where the numbers of each dataset begin.
        dtype: Of the numbers, little-endian.

    Returns:
        (N, bytes of a header)
    """
    count, rank = shapes.shape
    one = np.frombuffer(_dataset(rank, _float(dtype), b"\2\2\1\1\0\0\0\0"), np.uint8)
    headers = np.tile(one, (count, 1))
    sizes = shapes.prod(axis=1).astype(U64) * np.uint64(dtype.itemsize)
    headers[:, 32 : 32 + 8 * rank] = _as_bytes(shapes.astype(U64))
    headers[:, -22:-6] = _as_bytes(np.stack([np.where(sizes > 0, places, U64.type(NOWHERE)), sizes], axis=1))
    return headers


def _as_bytes(numbers: Places) -> npt.NDArray[np.uint8]:
    """(N, K) numbers as (N, 8 K) bytes."""
    return np.ascontiguousarray(numbers, U64).view(np.uint8)


def write_text(file: FileIO, text: bytes) -> int:
    """Write a dataset of shape (1,) with a text of any length; returns where its header is."""
    begin = file.tell()
    used = 32 + len(text) + -len(text) % 8
    size = max(4096, used)
    heap = struct.pack("<4sB3xQHH4xQ", b"GCOL", 1, size, 1, 0, len(text))
    free = struct.pack("<HHIQ", 0, 0, 0, size - used) if size - used >= 16 else b""
    write_all(file, [heap, text, bytes(-len(text) % 8), free, bytes(size - used - len(free))])
    write_all(file, [struct.pack("<IQI", len(text), begin, 1)])
    # A string of variable length in UTF-8, which consists of bytes.
    kind = bytes([0x19, 1, 1, 0]) + struct.pack("<I", 16) + b"\x10\0\0\0\1\0\0\0\0\0\x08\0\0\0\0\0"
    header = bytearray(_dataset(1, kind, b"\2\2\0\1\0\0\0\0"))
    struct.pack_into("<Q", header, 32, 1)
    struct.pack_into("<QQ", header, len(header) - 22, begin + size, 16)
    write_all(file, [header])
    return begin + size + 16


def write_group(file: FileIO, names: Sequence[bytes], places: Places) -> tuple[int, int, int]:
    """Write a group.

    Args:
        file: Where to.
        names: Of its members, sorted.
        places: (N,), where their headers are.

    Returns:
        Where its header, its tree and its heap of names are.
    """
    lengths = np.fromiter((len(name) + 8 & -8 for name in names), U64, len(names))  # with at least one NUL
    ends = np.cumsum(lengths, dtype=U64) + U64.type(8)
    offsets = ends - lengths
    heap = file.tell()
    write_all(file, [struct.pack("<4s4xQQQ", b"HEAP", int(ends[-1]) if len(names) else 8, 1, heap + 32), bytes(8)])
    for start in range(0, len(names), _FEW):
        write_all(file, [b"".join(name + bytes(8 - len(name) % 8) for name in names[start : start + _FEW])])
    children, last = _write_leaves(file, offsets, places)
    level = 0
    while level == 0 or len(children) > 1:
        children, last = _write_nodes(file, children, last, level)
        level += 1
    header, tree = file.tell(), int(children[0])
    write_all(file, [_header([(0x11, 0, struct.pack("<QQ", tree, heap))])])
    return header, tree, heap


def _write_leaves(file: FileIO, offsets: Places, places: Places) -> tuple[Places, Places]:
    """Write the entries of a group; returns where the nodes are, and where the name of the last entry of each is."""
    children = []
    for start in range(0, len(offsets), _LEAF * _FEW):
        part = slice(start, start + _LEAF * _FEW)
        count = len(offsets[part])
        nodes = -(-count // _LEAF)
        entries = np.zeros((nodes * _LEAF, 5), U64)  # name, header, and nothing more
        entries[:count, 0], entries[:count, 1] = offsets[part], places[part]
        used = np.full(nodes, _LEAF, U64)
        used[-1] = count - (nodes - 1) * _LEAF
        first = np.frombuffer(b"SNOD\1\0\0\0", U64)[0] | used << U64.type(48)
        whole = np.concatenate([first[:, None], entries.reshape(nodes, -1)], axis=1)
        children.append(_write_rows(file, whole))
    last = np.minimum(np.arange(_LEAF - 1, len(offsets) + _LEAF - 1, _LEAF), len(offsets) - 1)
    return (np.concatenate(children) if children else np.zeros(0, U64)), offsets[last]


def _write_nodes(file: FileIO, children: Places, last: Places, level: int) -> tuple[Places, Places]:
    """Write one level of the tree; returns the same as `_write_leaves`."""
    count = len(children)
    nodes = max(1, -(-count // _NODE))
    size = 24 + 8 * (2 * _NODE + 1)
    here = U64.type(file.tell()) + np.arange(nodes, dtype=U64) * U64.type(size)
    whole = np.zeros((nodes, size // 8), U64)
    used = np.minimum(count - np.arange(nodes) * _NODE, _NODE).astype(U64)
    whole[:, 0] = np.frombuffer(b"TREE\0" + bytes([level, 0, 0]), U64)[0] | used << U64.type(48)
    whole[:, 1:3] = NOWHERE
    whole[1:, 1], whole[:-1, 2] = here[:-1], here[1:]
    keys = np.zeros(nodes * _NODE + 1, U64)  # key i + 1 is the last name below child i, and key 0 the empty name
    keys[1 : count + 1] = last
    inner = np.zeros((nodes, _NODE, 2), U64)
    inner.reshape(-1, 2)[:count, 1] = children
    inner[:, :, 0] = keys[:-1].reshape(nodes, _NODE)
    whole[:, 3:-1] = inner.reshape(nodes, -1)
    whole[:, -1] = keys[_NODE::_NODE]
    write_all(file, [whole])
    ends = np.minimum(np.arange(1, nodes + 1) * _NODE, count) - 1
    return here, last[ends] if count else last


def _write_rows(file: FileIO, rows: npt.NDArray[np.generic]) -> Places:
    """Write rows one after the other; returns where each begins."""
    begin = file.tell()
    write_all(file, [rows])
    return U64.type(begin) + np.arange(len(rows), dtype=U64) * U64.type(rows.strides[0])


def write_headers(file: FileIO, shapes: npt.NDArray[np.int64], places: Places, dtype: np.dtype[np.floating]) -> Places:
    """Write the headers of datasets (see `dataset_headers`); returns where each is."""
    return _write_rows(file, dataset_headers(shapes, places, dtype))

"""Finds and reads one tensor of a TensorFlow checkpoint.

A tensor's entry in the index is a protocol buffer with its type, its shape and the position of its bytes in a data
file. A variable that was trained in parts has an entry without bytes that lists the parts, and an entry for each part.
All of this is untrusted input: everything is checked against the files before memory is allocated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from polyseme.errors import FormatError
from polyseme.formats.crc32c import crc32c, masked
from polyseme.formats.protobuf import Message, damaged

# The numbers are TensorFlow's (types.proto).
_TYPES = {1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string"}
_TYPES |= {9: "int64", 10: "bool", 14: "bfloat16", 19: "float16"}
_READABLE: dict[str, np.dtype[np.generic]] = {
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "float16": np.dtype("<f2"),
    "bfloat16": np.dtype("<u2"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
}
_MOST_DIMENSIONS = 32
_MOST_VALUES = 1 << 48
_PIECE = 1 << 24

Part = tuple[slice, ...]


@dataclass(frozen=True)
class Shard:
    """An open data file and its size in bytes."""

    name: str
    file: BinaryIO
    size: int


@dataclass(frozen=True)
class _Region:
    """A range of bytes in a data file with its checksum, and the part of the tensor that it contains."""

    shard: Shard
    offset: int
    size: int
    part: Part
    shape: tuple[int, ...]
    checksum: int


@dataclass(frozen=True)
class BundleTensor:
    """One tensor of a checkpoint; its values stay in the file until :meth:`read`.

    Attributes:
        name: The variable's name in the checkpoint.
        shape: Its shape.
        dtype: The type it is stored in, as TensorFlow calls it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    _regions: tuple[_Region, ...]

    def read(self) -> npt.NDArray[np.generic]:
        """Return the values; bfloat16 comes as float32, every other type as it is stored.

        Raises:
            FormatError: The type of the values cannot be read, they are not those that were written, or the file
                became shorter after it was opened.
        """
        if self.dtype not in _READABLE:
            shard = self._regions[0].shard.name
            raise FormatError(f"{shard}: {self.name!r} holds {self.dtype}; only {', '.join(_READABLE)} can be read")
        if len(self._regions) == 1:
            values = self._load(self._regions[0])
        else:
            values = np.empty(self.shape, _READABLE[self.dtype])
            for region in self._regions:
                values[region.part] = self._load(region)
        if self.dtype == "bfloat16":  # the upper half of a float32
            return (values.astype("<u4") << 16).view("<f4")
        return values

    def _load(self, region: _Region) -> npt.NDArray[np.generic]:
        raw = np.empty(region.size, np.uint8)
        done = checksum = 0
        region.shard.file.seek(region.offset)
        # In pieces, so that a large tensor is never in memory twice.
        while piece := region.shard.file.read(min(_PIECE, region.size - done)):
            raw[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
            checksum = crc32c(piece, checksum)
        if done < region.size:
            raise damaged(region.shard.name, f"{self.name!r} ends after {done} of {region.size} bytes")
        if masked(checksum) != region.checksum:
            raise damaged(region.shard.name, f"{self.name!r} does not have the right checksum")
        return raw.view(_READABLE[self.dtype]).reshape(region.shape)


def find_tensor(key: bytes, table: Mapping[bytes, bytes], shards: Sequence[Shard], index: str) -> BundleTensor:
    """Return a tensor after checking its entry against the data files.

    Args:
        key: Its name in the index.
        table: The index.
        shards: The data files.
        index: The name of the index in errors.
    """
    where = f"{index}, {key[:200].decode(errors='replace')!r}"
    try:
        name = key.decode()
    except UnicodeDecodeError:
        raise damaged(where, "the name is not UTF-8") from None
    entry = Message(table[key], where)
    dtype, shape = _dtype(entry), _shape(entry)
    parts = entry.messages(7)
    if not parts:
        whole = _region(entry, shards, tuple(slice(0, size) for size in shape))
        return BundleTensor(name, shape, dtype, (whole,))
    regions = _part_regions(key, parts, table, shards, where)
    if not _cover(shape, [region.part for region in regions]):
        raise damaged(where, f"its {len(regions)} parts do not follow each other to a tensor of {shape}")
    if sum(region.size for region in regions) > sum(shard.size for shard in shards):
        raise damaged(where, "its parts are larger than the data files")
    return BundleTensor(name, shape, dtype, tuple(regions))


def _part_regions(
    key: bytes, parts: Sequence[Message], table: Mapping[bytes, bytes], shards: Sequence[Shard], where: str
) -> list[_Region]:
    """Return the byte ranges of the parts of a tensor, in the order of the parts in it."""
    whole = Message(table[key], where)
    dtype, shape = _dtype(whole), _shape(whole)
    regions = []
    seen = set()
    for number, listed in enumerate(parts):
        # A start and a length for each dimension; without a length, the whole dimension.
        extents = [(extent.count(1), extent.count(2) if 2 in extent else -1) for extent in listed.messages(1)]
        part_key = _part_key(key, extents) if len(extents) == len(shape) else b""
        if part_key not in table or part_key in seen:
            raise damaged(where, f"part {number} has no entry of its own")
        seen.add(part_key)
        part_entry = Message(table[part_key], f"{where}, part {number}")
        if _dtype(part_entry) != dtype:
            raise damaged(part_entry.where, f"it is {_dtype(part_entry)}, but the whole tensor is {dtype}")
        lengths = [length if length >= 0 else size for (_, length), size in zip(extents, shape, strict=True)]
        part = tuple(slice(start, start + length) for (start, _), length in zip(extents, lengths, strict=True))
        regions.append(_region(part_entry, shards, part))
    return sorted(regions, key=lambda region: [along.start for along in region.part])


def _region(entry: Message, shards: Sequence[Shard], part: Part) -> _Region:
    """Return the byte range of an entry, which contains the given part of its tensor."""
    dtype, shape = _dtype(entry), _shape(entry)
    if shape != tuple(along.stop - along.start for along in part):
        raise damaged(entry.where, f"its shape {shape} is not that of its part of the tensor")
    shard, offset, size = entry.count(3), entry.count(4), entry.count(5)
    if shard >= len(shards):
        raise damaged(entry.where, f"it is in data file {shard} but the last one is {len(shards) - 1}")
    if offset + size > shards[shard].size:
        end = f"it ends at byte {offset + size} of {shards[shard].name}"
        raise damaged(entry.where, f"{end} but that file has {shards[shard].size} bytes")
    if dtype in _READABLE and math.prod(shape) * _READABLE[dtype].itemsize != size:
        raise damaged(entry.where, f"{dtype} of {shape} does not fill {size} bytes")
    return _Region(shards[shard], offset, size, part, shape, entry.fixed(6))


def _dtype(entry: Message) -> str:
    return _TYPES.get(entry.count(1), f"type {entry.count(1)}")


def _shape(entry: Message) -> tuple[int, ...]:
    shape = tuple(dimension.count(1) for proto in entry.messages(2)[-1:] for dimension in proto.messages(2))
    if len(shape) > _MOST_DIMENSIONS or math.prod(max(size, 1) for size in shape) > _MOST_VALUES:
        raise damaged(entry.where, f"its {len(shape)} dimensions are more or larger than those of any tensor")
    return shape


def _part_key(name: bytes, extents: Sequence[tuple[int, int]]) -> bytes:
    """Return the key of a part: 0, name, rank and extents, in an encoding that keeps their order (OrderedCode)."""
    key = b"\0" + name.replace(b"\0", b"\0\xff") + b"\0\1"
    key += bytes([1, len(extents)]) if extents else b"\0"
    for number in (number for extent in extents for number in extent):
        # As many one bits as there are bytes (zero bits if the number is negative), then the number.
        size = max(number, ~number).bit_length() // 7 + 1
        ones = (1 << size) - 1 << 7 * size
        key += (number % (1 << 8 * size) ^ ones).to_bytes(size, "big")
    return key


def _cover(shape: tuple[int, ...], parts: Sequence[Part]) -> bool:
    """Whether parts cover a tensor as TensorFlow divides it: in order along one axis, and whole along the others."""
    divided = [axis for axis, size in enumerate(shape) if any(part[axis] != slice(0, size) for part in parts)]
    if not divided:
        return len(parts) == 1
    starts = [*(part[divided[0]].start for part in parts), shape[divided[0]]]
    ends = [0, *(part[divided[0]].stop for part in parts)]
    return len(divided) == 1 and starts == ends

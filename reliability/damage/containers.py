"""Damages what is inside a container and keeps the container itself sound, so that the damage is reached.

Checksums and lengths are made anew: a zip with the right CRC around a damaged entry, a safetensors header of the right
length around wrong offsets.
"""

import contextlib
import gzip
import io
import json
import random
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable

import numpy as np

from polyseme.formats.crc32c import crc32c, masked
from reliability.damage.plain import damage_bytes
from reliability.damage.values import damage_value

Inner = Callable[[str, bytes, random.Random], bytes]
"""Damages the content of an entry, given its name."""

_FOOTER = 48
_HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (%s), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (%s), }",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (%s), }",
    "{'descr': '<U9', 'fortran_order': False, 'shape': (%s), }",
)
_SHAPES = ("", "0,", "1,", "-1,", "3, 3", "1 << 40,", "1099511627776,", "0, 1099511627776", "9" * 30 + ",", "2,3,4,5,6")


def damage_zip(data: bytes, draw: random.Random, inner: Inner) -> bytes:
    """A zip with one of its entries damaged, missing, twice, or packed in another way."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [(info, archive.read(info)) for info in archive.infolist()]
    except Exception:  # it was damaged before
        return damage_bytes(data, draw)
    if not entries or draw.random() < 0.2:
        return damage_bytes(data, draw)
    kind, at = draw.randrange(10), draw.randrange(len(entries))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number, (info, content) in enumerate(entries):
            name, packing = info.filename, info.compress_type
            if number == at:
                if kind == 0:
                    continue
                if kind == 1:
                    name = draw.choice(("../" + name, "/" + name, name.upper(), "a/" + name, "x", "C:\\x", "\ud7ff"))
                if kind == 2:
                    packing = draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
                if kind == 3:
                    content, packing = content + bytes(draw.choice((1 << 20, 24 << 20))), zipfile.ZIP_DEFLATED
                if kind > 4:
                    content = inner(name, content, draw)
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o120777 << 16 if kind == 4 and number == at else info.external_attr
            entry.compress_type = packing
            archive.writestr(entry, content)
    return _declare(made.getvalue(), draw) if draw.random() < 0.15 else made.getvalue()


def _declare(data: bytes, draw: random.Random) -> bytes:
    """Let an entry of the directory declare another size, method or place."""
    result = bytearray(data)
    places = [at for at in range(len(data) - 46) if data[at : at + 4] == b"PK\1\2"]
    if places:
        at, (field, size) = (
            draw.choice(places),
            draw.choice(((8, 2), (10, 2), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4))),
        )
        value = draw.choice((0, 1, 8, 12, 14, 99, 1 << 16, 1 << 28, (1 << 32) - 1)) % (1 << 8 * size)
        result[at + field : at + field + size] = value.to_bytes(size, "little")
    return bytes(result)


def damage_gzip(data: bytes, draw: random.Random, inner: Inner) -> bytes:
    """A gzip file with its content damaged, or made very much longer."""
    try:
        content = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return damage_bytes(data, draw)
    chance = draw.random()
    if chance < 0.2:
        return damage_bytes(data, draw)
    if chance < 0.3:
        content += bytes(draw.choice((1 << 18, 2 << 20)))
    elif chance < 0.4:
        return data + draw.choice((data, b"\0" * 9, b"\x1f\x8b", draw.randbytes(20)))
    else:
        content = inner("", content, draw)
    return gzip.compress(content, 1)


def damage_safetensors(data: bytes, draw: random.Random) -> bytes:
    """A safetensors file whose header declares other types, shapes or places, or whose numbers are odd."""
    size = int.from_bytes(data[:8], "little")
    chance = draw.random()
    if chance < 0.25 or size > len(data):
        return damage_bytes(data, draw)
    numbers = bytearray(data[8 + size :])
    if chance < 0.5 and len(numbers) >= 4:
        odd = draw.choice((float("nan"), float("inf"), 1e38, -1e38, 1e-40, 0.0))
        at = draw.randrange(len(numbers) // 4) * 4
        numbers[at : at + 4] = struct.pack("<f", odd)
        return data[: 8 + size] + bytes(numbers)
    try:
        header = damage_value(json.loads(data[8 : 8 + size]), draw)
        if draw.random() < 0.3 and isinstance(header, dict):
            for one in header.values():
                if isinstance(one, dict) and "dtype" in one and draw.random() < 0.5:
                    one["dtype"] = draw.choice(("F16", "BF16", "F64", "I8", "I64", "BOOL", "U8", "F8_E4M3", "x", ""))
        text = json.dumps(header)
    except (ValueError, RecursionError):
        return damage_bytes(data, draw)
    return len(text).to_bytes(8, "little") + text.encode() + bytes(numbers)


def damage_npy(data: bytes, draw: random.Random) -> bytes:
    """An array of numpy with another header, or with odd numbers."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError, MemoryError, OverflowError, tokenize.TokenError):
        return damage_bytes(data, draw)
    chance, made = draw.random(), io.BytesIO()
    if chance < 0.25:
        return damage_bytes(data, draw)
    if chance < 0.5:
        text = (draw.choice(_HEADERS) % draw.choice(_SHAPES)).encode() + b"\n"
        return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(array.tobytes())
    if chance < 0.6:
        text = b"(" * draw.choice((50, 3000, 60_000))
        return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text
    if chance < 0.8 and array.size:
        array = np.array(array)
        kind: tuple[float, ...] = (-1, 0, 1, 1 << 20, (1 << 31) - 1, -(1 << 31))
        odd = (*kind, float("nan"), float("inf"), 3e38) if array.dtype.kind == "f" else kind
        with contextlib.suppress(OverflowError, ValueError):  # a number that this type cannot hold
            array.reshape(-1)[draw.randrange(array.size)] = draw.choice(odd)
    elif chance < 0.9:
        array = array.astype(draw.choice(("<f8", "<i8", "<i4", "<f2", "|b1", "<c8", ">f4", "|S4")))
    else:
        array = draw.choice((array.reshape(-1), array.reshape(-1)[:0], array[..., None], array.T, np.tile(array, 2)))
    np.save(made, array)
    return made.getvalue()


def damage_table(data: bytes, draw: random.Random) -> bytes:
    """The index of a TensorFlow checkpoint with one block damaged and its checksum made anew."""
    if draw.random() < 0.25 or len(data) < _FOOTER:
        return damage_bytes(data, draw)
    footer = data[-_FOOTER:]
    numbers, at = [], 0
    for _ in range(4):
        number, at = _varint(footer, at)
        numbers.append(number)
    # Either the list of blocks, or everything before the blocks that the footer names.
    start, size = (numbers[2], numbers[3]) if draw.random() < 0.5 else (0, max(0, numbers[0] - 5))
    size = min(size, len(data))  # the index itself may be damaged
    block = damage_bytes(data[start : start + size], draw)[:size].ljust(size, b"\0") + b"\0"
    checksum = masked(crc32c(block)).to_bytes(4, "little")
    return data[:start] + block + checksum + data[start + size + 5 :]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            break
    return value, at

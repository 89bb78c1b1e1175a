"""Damages bytes without knowing what they mean."""

import random
import struct

INTERESTING = (0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40)
"""Numbers at which sizes and counts go wrong."""
_LARGEST_COPY = 4096


def damage_bytes(data: bytes, draw: random.Random) -> bytes:
    """The bytes with one to four of them, or one to four ranges of them, changed."""
    result = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if not result:
            return draw.randbytes(draw.randint(0, 64))
        draw.choice(_CHANGES)(result, draw)
    return bytes(result)


def _place(data: bytearray, draw: random.Random) -> int:
    """A place in the data; headers and ends are likelier than the middle."""
    near = draw.random()
    if near < 0.4:
        return draw.randrange(min(len(data), 256))
    if near < 0.6:
        return len(data) - 1 - draw.randrange(min(len(data), 256))
    return draw.randrange(len(data))


def _flip(data: bytearray, draw: random.Random) -> None:
    data[_place(data, draw)] ^= 1 << draw.randrange(8)


def _set(data: bytearray, draw: random.Random) -> None:
    data[_place(data, draw)] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x22, 0x7B, draw.randrange(256)))


def _number(data: bytearray, draw: random.Random) -> None:
    """Put a number of 2, 4 or 8 bytes somewhere, as a size or a count might be stored."""
    kind, value = draw.choice("HIQ"), draw.choice(INTERESTING) * draw.choice((1, 1, -1))
    size = struct.calcsize(kind)
    packed = struct.pack(draw.choice("<>") + kind, value % (1 << 8 * size))
    at = _place(data, draw)
    data[at : at + size] = packed


def _cut(data: bytearray, draw: random.Random) -> None:
    at = _place(data, draw)
    del data[at : at + draw.choice((1, 2, 8, 64, 1024))]


def _truncate(data: bytearray, draw: random.Random) -> None:
    del data[_place(data, draw) :]


def _insert(data: bytearray, draw: random.Random) -> None:
    at = _place(data, draw)
    data[at:at] = draw.choice((b"\0" * 8, b"\xff" * 4, b"\n", b'"', draw.randbytes(draw.randint(1, 40))))


def _repeat(data: bytearray, draw: random.Random) -> None:
    at = _place(data, draw)
    data[at:at] = data[at : at + draw.randint(1, _LARGEST_COPY)] * draw.choice((1, 1, 3))


def _fill(data: bytearray, draw: random.Random) -> None:
    at, size = _place(data, draw), draw.choice((4, 16, 512, 4096))
    size = min(size, len(data) - at)
    data[at : at + size] = draw.choice((b"\0", b"\xff", b"\x7f")) * size


def _move(data: bytearray, draw: random.Random) -> None:
    """Copy a range over another one."""
    one, two, size = _place(data, draw), _place(data, draw), draw.choice((2, 8, 64))
    chunk = data[one : one + size]
    data[two : two + len(chunk)] = chunk


_CHANGES = (_flip, _flip, _set, _set, _number, _number, _cut, _truncate, _insert, _repeat, _fill, _move)

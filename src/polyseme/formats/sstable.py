"""Reads sorted string tables, the LevelDB file that TensorFlow uses as the index of a checkpoint.

A table is a sequence of blocks and a footer. A block contains keys and values; each key is stored as the number of
bytes it shares with the key before, and the remaining bytes. After them come the positions of the keys that are stored
in full, the number of these positions, a byte for the compression, and a checksum of the block. The last block lists
the others. Nothing in a file is trusted: every length is compared with the bytes that are there.
"""

from collections.abc import Iterator

from polyseme.errors import FormatError
from polyseme.formats.crc32c import crc32c, masked
from polyseme.formats.protobuf import damaged, read_varint

_FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER = 5  # compression, checksum
# At least every 16th key is stored in full, so the keys together cannot be longer than this many times the file.
_MOST_KEY_BYTES = 64


def read_table(data: bytes, where: str) -> dict[bytes, bytes]:
    """Return the keys and values of a whole table, in their order.

    Args:
        data: The file.
        where: Its name in errors.
    """
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise FormatError(
            f"{where}: not the index of a TensorFlow checkpoint, or truncated (it lacks the mark at its end)"
        )
    body, footer = data[:-_FOOTER], data[-_FOOTER:]
    at = 0
    for _ in range(2):  # the first position and size are those of an empty block
        at = read_varint(footer, at, f"{where}, footer")[1]
    listing = _block(body, *_position(footer[at:], f"{where}, footer"), where)

    table: dict[bytes, bytes] = {}
    last, key_bytes, end = b"", 0, 0
    for _, value in _entries(listing, f"{where}, list of blocks"):
        start, size = _position(value, f"{where}, list of blocks")
        if start < end:
            raise damaged(where, f"the block at byte {start} overlaps the one before it")
        end = start + size
        for key, found in _entries(_block(body, start, size, where), f"{where}, block at byte {start}"):
            if table and key <= last:
                raise damaged(f"{where}, block at byte {start}", "its keys are not in order")
            key_bytes += len(key)
            if key_bytes > _MOST_KEY_BYTES * len(data):
                raise damaged(where, "its keys are longer than a file of this size can hold")
            table[key] = found
            last = key
    return table


def _position(data: bytes, where: str) -> tuple[int, int]:
    """Return the start and the size of a block."""
    start, at = read_varint(data, 0, where)
    return start, read_varint(data, at, where)[0]


def _block(body: bytes, start: int, size: int, where: str) -> bytes:
    """Return the content of a block after checking it against its checksum."""
    end = start + size
    if end + _TRAILER > len(body):
        raise damaged(where, f"the block at byte {start} ends at {end + _TRAILER} but the blocks end at {len(body)}")
    if body[end]:
        raise FormatError(
            f"{where}: the block at byte {start} is compressed (kind {body[end]}), which TensorFlow does not do; "
            f"save the checkpoint again with TensorFlow"
        )
    if masked(crc32c(body[start : end + 1])) != int.from_bytes(body[end + 1 : end + _TRAILER], "little"):
        raise damaged(where, f"the block at byte {start} does not have the right checksum")
    return body[start:end]


def _entries(block: bytes, where: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block."""
    end = len(block) - 4 * (1 + int.from_bytes(block[-4:], "little"))
    if len(block) < 4 or end < 0:
        raise damaged(where, "there is no room for the list at its end")
    key, at = b"", 0
    while at < end:
        start = at
        shared, at = read_varint(block, at, where)
        fresh, at = read_varint(block, at, where)
        size, at = read_varint(block, at, where)
        if shared > len(key) or at + fresh + size > end:
            raise damaged(where, f"the entry at byte {start} of the block is longer than the block")
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + size]
        at += size

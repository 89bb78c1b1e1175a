"""Whether bytes are still those that were written."""

import hashlib
import zlib
from collections.abc import Iterable
from pathlib import Path

_BLOCK = 1 << 20


def crc32(path: Path) -> int:
    """The CRC-32 of a file, which finds damage by accident."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value


def digest(parts: Iterable[bytes | memoryview]) -> str:
    """A short name for some bytes: 16 hexadecimal digits, different for different bytes.

    Example:
        >>> digest([b"The river ", b"bank"]) == digest([b"The river bank"])
        True
    """
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()

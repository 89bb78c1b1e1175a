"""Text files that are read whole, up to a size."""

import errno
from pathlib import Path

LARGEST = 1 << 27
"""Bytes. A larger file is refused before it is read."""


def read_text(path: Path, *, largest: int = LARGEST) -> str:
    """The text in a UTF-8 file, without a byte order mark.

    Raises:
        OSError: The file cannot be read, or is too large.
        UnicodeDecodeError: It is not UTF-8.
    """
    with path.open("rb") as file:
        content = b"" if (size := path.stat().st_size) > largest else file.read(largest + 1)
    if max(size, len(content)) > largest:
        raise OSError(errno.EFBIG, f"{max(size, len(content)):,} bytes, where at most {largest:,} are expected", path)
    return content.decode("utf-8-sig")

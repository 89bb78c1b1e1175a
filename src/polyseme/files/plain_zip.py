"""Whether a zip that this program wrote itself, without compression, still holds no more than its size."""

import zipfile
from pathlib import Path


def check_plain_zip(path: Path) -> None:
    """Refuse a zip with packed entries, or whose entries together are larger than the file.

    The program writes its own archives (checkpoints, parts of an index) without compression, so one that would unpack
    to more than it holds is not one of them. What is no zip at all is left to its reader.

    Raises:
        ValueError: With what was found.
        zipfile.BadZipFile: The zip is damaged.
    """
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    total, size = sum(entry.file_size for entry in entries), path.stat().st_size
    if total > size or any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError(f"it would unpack to {total:,} bytes and has {size:,}")

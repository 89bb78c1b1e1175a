"""Members of tar and zip archives, read in memory one by one: nothing is ever written under a name from an archive."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from polyseme.errors import InputError

Members = Iterator[tuple[str, bytes]]


def read_members(path: Path, patterns: Sequence[str], *, leave_out: Sequence[str] = ()) -> Members:
    """Yield name and content of the files in an archive, in the archive's order.

    A gzip-packed member is unpacked; the files of a zip archive inside the archive are given under ``outer/inner``.

    Args:
        path: A tar file (plain or gzip) or a zip file (a wheel is one).
        patterns: Patterns of the members to read; each must match at least one member.
        leave_out: Patterns of the members to leave out.

    Raises:
        InputError: A pattern matches nothing, or the file is not an archive.
    """
    unmatched = set(patterns)
    for name, content in _files(path, patterns, leave_out, unmatched):
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as inner:
                yield from ((f"{name}/{info.filename}", inner.read(info)) for info in inner.infolist())
        else:
            yield name, gzip.decompress(content) if name.endswith(".gz") else content
    if unmatched:
        raise InputError(f"{path.name}: no member matches {', '.join(sorted(unmatched))}; correct sources.toml")


def _files(path: Path, patterns: Sequence[str], leave_out: Sequence[str], unmatched: set[str]) -> Members:
    def wanted(name: str) -> bool:
        matching = {pattern for pattern in patterns if fnmatchcase(name, pattern)}
        unmatched.difference_update(matching)
        return bool(matching) and not any(fnmatchcase(name, pattern) for pattern in leave_out)

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir() and wanted(info.filename):
                    yield info.filename, archive.read(info)
        return
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                # Links are ignored: they could point anywhere.
                if member.isreg() and wanted(member.name) and (file := tar.extractfile(member)):
                    yield member.name, file.read()
    except tarfile.TarError as error:
        raise InputError(f"{path.name}: neither a tar nor a zip archive: {error}; fetch it again") from error

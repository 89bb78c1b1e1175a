"""Members of tar, zip and Debian archives, read in memory: nothing is written under a name from an archive."""

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
        path: A tar file (plain or gzip), a zip file (a wheel is one) or a Debian package, whose data files are read.
        patterns: What to read; every one must match a member. Members of a Debian package begin with ``./``.
        leave_out: What to leave out of it.

    Raises:
        InputError: A pattern matches nothing, or the file is no archive.
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
        with _tar(path) as tar:
            for member in tar:
                # Links are left alone: they could point anywhere.
                if member.isreg() and wanted(member.name) and (file := tar.extractfile(member)):
                    yield member.name, file.read()
    except tarfile.TarError as error:
        raise InputError(f"{path.name}: neither a tar nor a zip archive: {error}; fetch it again") from error


_AR_MAGIC, _AR_HEADER = b"!<arch>\n", 60


def _tar(path: Path) -> tarfile.TarFile:
    """Open a tar file, or the ``data.tar`` of a Debian package, which is an ar archive."""
    with path.open("rb") as file:
        if file.read(len(_AR_MAGIC)) != _AR_MAGIC:
            return tarfile.open(path)
        while header := file.read(_AR_HEADER):
            name, size = header[:16].decode("ascii").strip(), int(header[48:58])
            if name.startswith("data.tar"):
                return tarfile.open(fileobj=io.BytesIO(file.read(size)))
            file.seek(size + size % 2, io.SEEK_CUR)
    raise tarfile.ReadError("a Debian package without data.tar")

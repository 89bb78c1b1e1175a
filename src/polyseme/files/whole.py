"""Files and folders that appear under their names when they are complete, or not at all.

A file is written under another name in the same folder, flushed to the disk and renamed, and the folder is flushed, so
that after a crash or a power cut either the old file or the new one is there, whole.
"""

import contextlib
import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from polyseme.errors import InputError, OutputError

JSON: TypeAlias = JsonValue
"""A value that JSON can hold."""

TEMPORARY = ".tmp"
"""Ends the name of a file or folder that is being written."""


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; the file gets its name when the block ends without an error.

    An error of the system (`OSError`) is passed on, and the file is then as it was before.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
        >>> with whole_file(target) as temporary:
        ...     _ = temporary.write_text("42")
        >>> target.read_text()
        '42'
    """
    temporary = temporary_path(path)
    try:
        yield temporary
        flush(temporary)
        rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, *, errors: str = "strict") -> None:
    """Write a text file whole, in UTF-8 and with line feeds."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors=errors, newline="\n")


def write_json(path: Path, value: object, *, indent: int | None = None) -> None:
    """Write a JSON file whole.

    Names of files need not be Unicode: what is not is escaped, and reads back as it was.
    """
    write_text(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n", errors="backslashreplace")


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to fill; it gets its name when the block ends without an error.

    Raises:
        InputError: The folder exists, or there is no folder to put it into.
        OutputError: The system refused; nothing is left behind.
    """
    check_new(folder)
    temporary = temporary_path(folder)
    try:
        temporary.mkdir()
        yield temporary
        flush_tree(temporary)
        rename(temporary, folder)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{folder}: could not be written ({reason(error)}); nothing was left behind") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_new(path: Path) -> None:
    """Refuse the name of a new folder that exists already, or that has no folder to be in.

    Raises:
        InputError: With what to do.
    """
    if not path.name or path.exists():  # "." and "/" have no name
        raise InputError(f"{path}: exists already; give the name of a new folder")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.absolute().parent}: no such folder to write {path.name} into; create it first")


def temporary_path(path: Path) -> Path:
    """A new name in the same folder as a path, for a file or folder that is not complete yet."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")


def remove_temporaries(folder: Path, *, of: str = "") -> None:
    """Delete what interrupted writers left in a folder: all of it, or what was to become ``of``.

    Nobody else may be writing there, or writing ``of``, at the same time.
    """
    for path in folder.glob(f".{glob.escape(of) if of else '*'}.{'[0-9a-f]' * 8}{TEMPORARY}"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def rename(source: Path, target: Path) -> None:
    """Give a file or a folder its final name, and wait until the name is on the disk."""
    source.replace(target)
    # Some systems cannot flush a folder; the rename has happened all the same.
    with contextlib.suppress(OSError):
        flush(target.absolute().parent)


def flush(path: Path) -> None:
    """Wait until a file or a folder is on the disk, so that a rename never outlives what it names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_tree(folder: Path) -> None:
    """Wait until every file below a folder is on the disk, and the folders too."""
    for place, _, names in os.walk(folder):
        for name in names:
            flush(Path(place, name))
        with contextlib.suppress(OSError):
            flush(Path(place))


def reason(error: BaseException) -> str:
    """What went wrong, in one line and without the path that `OSError` puts in front.

    Example:
        >>> reason(OSError(28, "No space left on device", "out.h5"))
        'No space left on device'
    """
    # HDF5 has a line end within its strerror.
    return " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__

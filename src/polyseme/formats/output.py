"""Writes a model folder completely or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyseme.errors import InputError, OutputError


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, and rename it to ``folder`` if there was no error."""
    if folder.exists():
        raise InputError(f"{folder}: exists already; give the name of a new folder")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{folder.absolute().parent}: no such folder to write {folder.name} into; create it first")
    try:
        working = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created ({error.strerror})") from error
    try:
        yield working
        working.chmod(0o755)
        working.rename(folder)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"{folder}: could not be written ({error.strerror or error}); nothing was left behind"
        ) from error
    finally:
        shutil.rmtree(working, ignore_errors=True)

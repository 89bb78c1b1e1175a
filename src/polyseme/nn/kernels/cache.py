"""Where a library that was compiled on this machine is kept, and whether one found there may be loaded.

Loading a library runs what is in it. So it is loaded only if it and its folder belong to this user or to root, nobody
else may write them, and it is whole: it ends with a digest of itself, which the loader of the system does not see.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from polyseme.files.whole import whole_file

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """A folder for compiled libraries that only this user writes.

    It is in the user's cache folder, or lasts as long as this process if there is none that can be written.
    """
    try:
        folder = _users_cache() / "polyseme"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _claimed(folder):
            with tempfile.TemporaryFile(dir=folder):
                return folder
    except (OSError, RuntimeError):  # no home folder, or one that cannot be written
        pass
    own = tempfile.mkdtemp(prefix="polyseme-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)


def keep(library: Path, target: Path) -> None:
    """Store a library, whole or not at all, with its digest at the end."""
    content = library.read_bytes()
    with whole_file(target) as temporary:
        temporary.touch(mode=0o700)
        temporary.write_bytes(content + hashlib.sha256(content).digest())
        temporary.chmod(0o700)


def may_be_loaded(library: Path) -> bool:
    """Whether a stored library is whole, and nobody but this user or root can have written it."""
    try:
        if not (_private(library.parent.stat()) and _private(found := library.lstat()) and stat.S_ISREG(found.st_mode)):
            return False
        content = library.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]


def _users_cache() -> Path:
    """As the XDG base directory specification says: a relative path is invalid and is ignored."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def _claimed(folder: Path) -> bool:
    """Whether only this user writes to a folder. One of this user's that others may write is emptied and closed."""
    found = folder.stat()
    if not _owned(found):
        return False
    if found.st_mode & _OTHERS_WRITE:
        folder.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_WRITE)
        for library in folder.glob("kernels-*.so"):
            with contextlib.suppress(OSError):
                library.unlink()
    return True


def _private(found: os.stat_result) -> bool:
    return _owned(found) and not found.st_mode & _OTHERS_WRITE


def _owned(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid in (0, os.geteuid())

"""Makes sure that one process at a time writes an output.

The lock is a file ``OUTPUT.lock`` next to the output that names its process. The operating system locks it (``flock``)
and unlocks it when the process ends, however that happens, so a file left by a killed process locks nothing.
"""

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from polyseme.errors import InputError, OutputError
from polyseme.files.whole import reason

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SUFFIX = ".lock"
_TRIES, _PAUSE = 50, 0.01  # to read the name of a process that takes the lock at the same moment
_BEYOND = 1 << 20  # Windows locks a range of bytes, which nobody may read then: one after the end of the file


@contextlib.contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold the lock of an output while the block runs.

    Args:
        output: The file or folder that is going to be written; it need not exist.

    Raises:
        InputError: There is no folder to write the output into.
        OutputError: Another process, which is named, writes this output; or the lock cannot be created.
    """
    path = output.absolute()
    lock = path.with_name(path.name + SUFFIX)
    if not lock.parent.is_dir():
        raise InputError(f"{lock.parent}: no such folder to write {output.name} into; create it first")
    file = _acquire(lock, output)
    try:
        yield
    finally:
        # Removed while it is still held: whoever opened it before finds that it is gone, and begins again.
        with contextlib.suppress(OSError):
            lock.unlink()
        file.close()


def _acquire(lock: Path, output: Path) -> IO[bytes]:
    """Open and lock the file, which another process may remove in between."""
    while True:
        try:
            file = lock.open("a+b", buffering=0)  # nothing is left to be written when it is closed
        except OSError as error:
            raise OutputError(f"{lock}: cannot be created ({reason(error)}); write to another folder") from error
        if not _hold(file):
            holder = _holder(file)
            file.close()
            raise OutputError(
                f"{output}: is being written by {holder}; wait until it is done, or give another name for the output"
            )
        if _is_named(file, lock):
            _sign(file)
            return file
        file.close()


def _hold(file: IO[bytes]) -> bool:
    """Take the lock if it is free."""
    try:
        if sys.platform == "win32":
            file.seek(_BEYOND)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system that cannot lock; nothing better can be had there
        return True
    return True


def _is_named(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still the one under its name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def _sign(file: IO[bytes]) -> None:
    """Write down whose lock it is, for the message that others get."""
    with contextlib.suppress(OSError):  # a full disk; the lock holds all the same
        file.truncate(0)
        file.write(json.dumps({"process": os.getpid(), "host": socket.gethostname()}).encode())


def _holder(file: IO[bytes]) -> str:
    """Who holds a lock, as a message names it."""
    for _ in range(_TRIES):
        try:
            file.seek(0)
            found = json.loads(file.read(4096))
            process, host = int(found["process"]), str(found["host"])
        except (OSError, ValueError, KeyError, TypeError):  # it took the lock a moment ago and has not signed yet
            time.sleep(_PAUSE)
            continue
        return f"process {process}" if host == socket.gethostname() else f"process {process} on {host}"
    return "another process"

"""Runs one case in a fork of this process, with limits of memory and time."""

import json
import os
import random
import resource
import select
import shutil
import signal
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, get_args

from polyseme.errors import PolysemeError
from reliability.target import Target

Verdict = Literal["refused", "accepted", "traceback", "crash", "hang", "over-memory"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FAILURES: tuple[Verdict, ...] = ("traceback", "crash", "hang", "over-memory")

FIXED_BYTES = 128 << 20
"""What any file may take."""
MULTIPLE = 32
"""And this many times its own size: JSON becomes Python objects of about 25 times the size."""
CPU_SECONDS = 20
"""What any file may take of the processor, and a second more for each `BYTES_A_SECOND`."""
BYTES_A_SECOND = 2 << 20
WALL_SECONDS = 900.0
"""Far more than the processor time, since the machine may have other work."""
_HARD_LIMIT = 3 << 30
"""Bytes of address space beyond those of the server, so that a failure does not take the whole machine."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    verdict: Verdict
    said: str
    """The message, or the traceback."""
    taken: int = 0
    """Bytes of memory."""
    size: int = 0
    """Bytes of the files."""


def draw_for(target: str, seed: int, case: int) -> random.Random:
    """The random numbers of a case, the same whichever cases run before it."""
    return random.Random(f"{target}:{seed}:{case}")


def run_case(target: Target, good: Path, folder: Path, seed: int, case: int) -> Outcome:
    """Copy good files into a folder, damage them and try them, all in a process of its own.

    The folder is left as the case made it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(target, good, folder, draw_for(target.name, seed, case), writing)
    os.close(writing)
    ended, said = _answer(reading, WALL_SECONDS)
    os.close(reading)
    if not ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return _outcome(said, status, ended=ended)


def _outcome(said: bytes, status: int, *, ended: bool) -> Outcome:
    """What a child's lines and the way it ended mean."""
    lines = said.decode("utf-8", "replace").splitlines()
    size = int(lines[0]) if lines and lines[0].isdigit() else 0
    if status == -signal.SIGXCPU:
        return Outcome("hang", f"more than {_seconds(size)} s of processor time", size=size)
    if not ended:
        return Outcome("hang", f"not at its end after {WALL_SECONDS:.0f} s", size=size)
    if status or len(lines) < 2:
        return Outcome("crash", f"ended with {status}", size=size)
    verdict, message, taken = json.loads(lines[1])
    if verdict not in FAILURES and taken > FIXED_BYTES + MULTIPLE * size:
        return Outcome("over-memory", f"{taken:,} bytes for files of {size:,}; {message}", taken, size)
    return Outcome(verdict, message, taken, size)


def _answer(reading: int, seconds: float) -> tuple[bool, bytes]:
    """What is written to a pipe until it is closed, and whether that was in time."""
    said, until = b"", time.monotonic() + seconds
    while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
        # What is there is read also when it is late: this process may have been paused, and not the other one.
        some = os.read(reading, 1 << 16)
        if not some:
            return True, said
        said += some
    return False, said


def _child(target: Target, good: Path, folder: Path, draw: random.Random, writing: int) -> NoReturn:
    """Run the case and leave; the first line is the size of the files, the second what happened."""
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        warnings.simplefilter("ignore")
        shutil.copytree(good, folder, symlinks=True)
        target.damage(folder, draw)
        target.seal(folder, draw)
        size = sum(path.lstat().st_size for path in folder.rglob("*"))
        os.write(writing, f"{size}\n".encode())
        before = _begin_measuring(_seconds(size), limited=target.server != "sanitized")
        verdict, said = _tried(target, folder)
        os.write(writing, json.dumps([verdict, said, _peak() - before]).encode() + b"\n")
        code = 0
    except BaseException:  # the case could not be made: a fault of the fuzzer
        os.write(writing, f"0\n{json.dumps(['crash', traceback.format_exc(), 0])}\n".encode())
        code = 0
    finally:
        os._exit(code)


def _tried(target: Target, folder: Path) -> tuple[Verdict, str]:
    try:
        target.attempt(folder)
    except PolysemeError as error:
        said = str(error)
        return ("refused", said) if said and "\n" not in said else ("traceback", f"not one line: {said!r}")
    except MemoryError:
        return "over-memory", traceback.format_exc()
    except BaseException:
        return "traceback", traceback.format_exc()
    return "accepted", ""


def _seconds(size: int) -> int:
    """The processor time that files of so many bytes may take."""
    return CPU_SECONDS + size // BYTES_A_SECOND


def _begin_measuring(seconds: int, *, limited: bool) -> int:
    """Set the limits and begin the peak of memory anew; gives the memory now."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limited:
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + _HARD_LIMIT,) * 2)
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """The most memory of this process alone: what getrusage gives counts the process that started it."""
    with Path("/proc/self/status").open() as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

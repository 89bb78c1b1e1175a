"""What the kernels are compiled from, and how.

Read by `build`, which compiles them on the machine they run on, and by ``hatch_build.py``, which puts compiled ones
into a wheel. The second has neither torch nor this package, so nothing but the standard library is imported here.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCES = tuple(
    FOLDER / name
    for name in (
        "lstm.cpp",
        "lstm_backward.cpp",
        "pack.cpp",
        "pool.cpp",
        "product.cpp",
        "recurrent.cpp",
        "recurrent_backward.cpp",
        "rows.cpp",
        "words.cpp",
    )
)
HEADERS = tuple(FOLDER / name for name in ("common.h", "lstm.h", "panels.h", "pool.h", "recurrent.h"))
EXPORTS = FOLDER / "exports.map"

# A product and a sum become one instruction wherever there is one, whichever compiler it is: clang would do less.
FLAGS = ("-O3", "-std=c++17", "-fPIC", "-pthread", "-ffp-contract=fast")
NATIVE = ("-march=native",)

LINK = ("-shared", "-pthread", *((f"-Wl,--version-script={EXPORTS}",) if sys.platform == "linux" else ()))


def find_compiler() -> str | None:
    """The C++ compiler of this machine: that of ``CXX``, or the first of the usual ones."""
    names = (os.environ.get("CXX"), "g++", "clang++", "c++")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def compile_objects(compiler: str, flags: Sequence[str], folder: Path) -> list[Path]:
    """Compile every source into a folder, in parallel; ``flags`` name the instruction set.

    Raises:
        OSError: With the compiler's last line.
    """
    objects = [folder / f"{source.stem}.o" for source in SOURCES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(_run, compiler, *FLAGS, *flags, "-c", str(source), "-o", str(made))
            for source, made in zip(SOURCES, objects, strict=True)
        ]
        for job in jobs:
            job.result()
    return objects


def link(compiler: str, objects: Sequence[Path], target: Path, flags: Sequence[str] = ()) -> None:
    """Make a library of objects, of which only the entry points ``polyseme_*`` can be seen.

    Raises:
        OSError: With the linker's last line.
    """
    _run(compiler, *LINK, *flags, *map(str, objects), "-o", str(target))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{command[0]} failed")

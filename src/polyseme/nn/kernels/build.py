"""Compiles the C++ sources in this folder once per machine, and loads the library.

This is the one module of `polyseme.nn` that opens files: it reads the sources, keeps the compiled library in the user's
cache folder and loads it from there. Without a compiler, or with ``POLYSEME_KERNELS=off``, there is no library and
torch computes instead; in float32 the results are the same.
"""

import atexit
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCES = tuple(FOLDER / name for name in ("lstm.cpp", "lstm_backward.cpp", "pack.cpp", "words.cpp"))
HEADERS = tuple(FOLDER / name for name in ("common.h", "lstm.h", "share.h"))
FLAGS = ("-O3", "-march=native", "-std=c++17", "-fPIC", "-pthread")


@cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels, or None if there are none on this machine."""
    compiler = _compiler()
    if compiler is None or os.environ.get("POLYSEME_KERNELS") == "off":
        return None
    try:
        return ctypes.CDLL(str(_built(compiler)))
    except (OSError, subprocess.SubprocessError) as error:
        warnings.warn(f"the native kernels could not be built ({error}); torch is used instead, slower", stacklevel=2)
        return None


def _compiler() -> str | None:
    names = (os.environ.get("CXX"), "g++", "clang++", "c++")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def _built(compiler: str) -> Path:
    """Compile unless this source was compiled for this machine before; the file is written whole or not at all."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    text = b"".join(path.read_bytes() for path in (*SOURCES, *HEADERS))
    key = hashlib.sha256(text + version + " ".join(FLAGS).encode() + _processor()).hexdigest()[:16]
    target = _cache_folder() / f"kernels-{key}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            working = Path(folder) / target.name
            objects = [working.with_name(f"{source.stem}.o") for source in SOURCES]
            with ThreadPoolExecutor() as pool:  # the files are compiled in parallel
                jobs = [
                    pool.submit(_compile, compiler, "-c", str(source), "-o", str(made))
                    for source, made in zip(SOURCES, objects, strict=True)
                ]
                for job in jobs:
                    job.result()
            _compile(compiler, "-shared", *map(str, objects), "-o", str(working))
            working.replace(target)
    return target


def _compile(compiler: str, *arguments: str) -> None:
    done = subprocess.run([compiler, *FLAGS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{compiler} failed")


def _processor() -> bytes:
    """What -march=native depends on, since machines with different processors may share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features"))).encode()
    except (OSError, StopIteration):
        return (platform.machine() + platform.processor()).encode()


def _cache_folder() -> Path:
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyseme"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # no home folder, or a read-only one: compile for this process only
        own = tempfile.mkdtemp(prefix="polyseme-")
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        return Path(own)

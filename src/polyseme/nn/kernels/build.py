"""Gives the compiled kernels: those of the wheel, or else compiled once on this machine.

The kernels' modules `build`, `cache`, `compiling` and `levels` are the only ones of `polyseme.nn` that open files. A
wheel holds a library for each instruction set. Without one, as in a source tree, the sources are compiled for this
very processor and kept in the user's cache folder. Without a compiler either, or with ``POLYSEME_KERNELS=off``, torch
computes instead; in float32 the results are the same.
"""

import ctypes
import hashlib
import os
import platform
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

import torch

from polyseme.nn.kernels.cache import cache_folder, keep, may_be_loaded
from polyseme.nn.kernels.compiling import (
    EXPORTS,
    FLAGS,
    HEADERS,
    LINK,
    NATIVE,
    SOURCES,
    compile_objects,
    find_compiler,
    link,
)
from polyseme.nn.kernels.levels import COMPILED, GENERIC, fitting, levels_for, processor_features


@cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels, or None if there are none on this machine.

    ``POLYSEME_KERNELS=off`` goes without them; ``POLYSEME_KERNELS=native`` compiles them although a wheel has them.
    """
    choice = os.environ.get("POLYSEME_KERNELS")
    if choice == "off":
        return None
    problem = ""
    if choice != "native" and (given := fitting(processor_features(), platform.machine())):
        try:
            return ctypes.CDLL(str(given))
        except OSError as error:  # made for another system, or damaged; a compiler can still help
            problem = f"loaded ({error})"
    if compiler := find_compiler():
        try:
            return ctypes.CDLL(str(_built(compiler)))
        except (OSError, subprocess.SubprocessError) as error:
            problem = f"built ({error})"
    if problem:
        warnings.warn(f"the native kernels could not be {problem}; torch is used instead, slower", stacklevel=2)
    return None


def instruction_set() -> str:
    """What the last bits of a computation depend on, besides its input: what computes it on this processor.

    It is the instruction set of the wheel's library; with the digest of all features of the processor if the library
    was compiled for it alone; or what torch uses, if there is none.
    """
    built = library()
    if built is None:
        return f"torch {platform.machine()} {torch.backends.cpu.get_cpu_capability().lower()}"
    path = Path(str(built._name))
    if path.parent == COMPILED:
        return path.stem
    features, machine = processor_features(), platform.machine()
    level = next((level.name for level in levels_for(machine) if level.features <= features), GENERIC.name)
    return f"{level}, compiled for {hashlib.sha256(_processor()).hexdigest()[:8]}"


def _built(compiler: str) -> Path:
    """Compile unless these sources were compiled for this machine before."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    text = b"".join(path.read_bytes() for path in (*SOURCES, *HEADERS, EXPORTS))
    flags = " ".join((*FLAGS, *NATIVE, *LINK)).encode()
    key = hashlib.sha256(text + version + flags + _processor()).hexdigest()[:16]
    target = cache_folder() / f"kernels-{key}.so"
    if not may_be_loaded(target):
        with tempfile.TemporaryDirectory(prefix="polyseme-") as folder:
            made = Path(folder, target.name)
            link(compiler, compile_objects(compiler, NATIVE, Path(folder)), made)
            keep(made, target)
    return target


def _processor() -> bytes:
    """What -march=native depends on, since machines with different processors may share a home folder."""
    features = " ".join(sorted(processor_features()))
    return (features or platform.machine() + platform.processor()).encode()

"""Builds the kernels with the address and undefined-behaviour sanitisers, for processes that this one starts."""

import os
import shutil
import subprocess
from pathlib import Path

_FLAGS = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
_MARK = "POLYSEME_SANITIZED"


def environment(folder: Path) -> dict[str, str]:
    """The environment of a process whose kernels are sanitised; ``folder`` keeps the compiled library.

    Raises:
        RuntimeError: There is no g++ with the libraries of the sanitisers.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError("the sanitisers need g++; install it")
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    library = Path(runtime.stdout.strip())
    if not library.is_absolute():
        raise RuntimeError("this g++ has no libasan; install the package libasan that fits it")
    folder.mkdir(parents=True, exist_ok=True)
    wrapper = folder / "sanitizing-g++"
    wrapper.write_text(f'#!/bin/sh\nexec {compiler} "$@" {_FLAGS}\n')
    wrapper.chmod(0o755)
    return {
        **os.environ,
        "CXX": str(wrapper.absolute()),
        "XDG_CACHE_HOME": str((folder / "cache").absolute()),
        "POLYSEME_KERNELS": "native",
        # The libraries of torch are not sanitised and never free some of what they take.
        "LD_PRELOAD": f"{library} {_beside(library, 'libstdc++.so', compiler)}",
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16:abort_on_error=0:exitcode=99",
        "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
        _MARK: "1",
    }


def is_sanitized() -> bool:
    """Whether this process was started with such an environment."""
    return _MARK in os.environ


def _beside(library: Path, name: str, compiler: str) -> str:
    """Exceptions are intercepted only if the C++ library is there from the beginning."""
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()

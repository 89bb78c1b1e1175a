"""A process whose forks begin with everything imported: it has imported torch and has started no threads."""

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from reliability.target import ServerName

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    # Memory in large pages: a fork of a process with fewer of them takes a third of the time.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "PYTHONMALLOC": "malloc",
}
"""What must be set before Python begins."""


def begin_again(module: str) -> None:
    """Start this program once more with `ENVIRONMENT`, unless it has it already."""
    if not ENVIRONMENT.items() <= os.environ.items():
        _replace(module)


def _replace(module: str) -> NoReturn:
    os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], {**os.environ, **ENVIRONMENT})


def warm_up(modules: Iterable[str], server: ServerName = "whole") -> None:
    """Import modules, so that a fork has them already; starts no threads.

    Raises:
        RuntimeError: There are threads: a fork would have only one of them, and the locks of the others.
    """
    from polyseme.text.choices import TOKENIZERS
    from polyseme.text.segmentation import Segmentation

    if server != "small":
        _load_numerics()
    for tokenizer in TOKENIZERS:
        Segmentation(tokenizer).sentences("The bank. 河岸。")
    for name in modules:
        if name.partition(".")[0] not in ("__main__", "__mp_main__"):
            with contextlib.suppress(Exception):  # a name that somebody put there by hand
                importlib.import_module(name)
    gc.collect()
    gc.freeze()
    if (count := len(list(Path("/proc/self/task").iterdir()))) > 1:
        raise RuntimeError(f"the server has {count} threads, expected one")


def _load_numerics() -> None:
    """Load torch and the others with one thread each, and the kernels."""
    import faiss
    import pyarrow
    import torch

    from polyseme.nn.kernels.build import library

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    library()


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()

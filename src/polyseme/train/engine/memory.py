"""Memory that is free but not given back."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _library() -> Any:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None  # glibc's


def give_back() -> None:
    """Give freed memory back to the system.

    Batches differ in shape, so what one frees seldom fits the next, and a long run would come to hold twice what it
    needs.
    """
    if library := _library():
        library.malloc_trim(0)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of malloc.h
_USUAL = 32 << 20  # glibc's own highest value of the second


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed blocks for the next ones, however large.

    Otherwise each large gradient is memory that the system has to give and fill with zeros again, a tenth of an
    update's time. `give_back` still bounds what is held.
    """
    library = _library()
    if library is None:
        yield
        return
    library.mallopt(_MMAP_THRESHOLD, 1 << 30)
    library.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    try:
        yield
    finally:
        library.mallopt(_MMAP_THRESHOLD, _USUAL)
        library.mallopt(_TRIM_THRESHOLD, 2 * _USUAL)
        give_back()

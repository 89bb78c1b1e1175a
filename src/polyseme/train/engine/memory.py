"""Memory that is free but not given back."""

import ctypes
import sys
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

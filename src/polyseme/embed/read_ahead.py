"""Reads and tokenises text in a thread of its own while vectors are computed."""

import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

Item = TypeVar("Item")

_CHUNK = 4096
_CHUNKS = 8
_WAIT = 0.1


def read_ahead(items: Iterable[Item], size: Callable[[Item], int]) -> Generator[Item, None, None]:
    """Yield the items, which a thread produces some way ahead.

    An error of the iterator is raised after the items before it. When the generator is closed the thread ends with the
    item that it is working on; one that waits for a pipe would wait on, so pipes are better read without this.

    Args:
        items: What to produce; nobody else may use this iterator meanwhile.
        size: How large an item is, such as its tokens. About 32,000 in all are held ahead.
    """
    ahead = _Ahead(items, size)
    thread = threading.Thread(target=ahead.produce, name="polyseme reader", daemon=True)
    thread.start()
    try:
        with _quick_switches():
            while (chunk := ahead.chunks.get()) is not None:
                if isinstance(chunk, BaseException):
                    raise chunk
                yield from chunk
    finally:
        ahead.closed.set()
        thread.join()


class _Ahead(Generic[Item]):
    """What the thread and its reader share: items in chunks, then an error or None."""

    def __init__(self, items: Iterable[Item], size: Callable[[Item], int]) -> None:
        self._items, self._size = items, size
        self.chunks: queue.Queue[list[Item] | BaseException | None] = queue.Queue(_CHUNKS)
        self.closed = threading.Event()

    def produce(self) -> None:
        """Put all items into the queue."""
        chunk: list[Item] = []
        room = _CHUNK
        try:
            for item in self._items:
                chunk.append(item)
                room -= self._size(item) + 1
                if room <= 0:
                    self._put(chunk)
                    chunk, room = [], _CHUNK
                if self.closed.is_set():
                    return
        except BaseException as error:
            self._put(chunk)
            self._put(error)
        else:
            self._put(chunk)
            self._put(None)

    def _put(self, chunk: list[Item] | BaseException | None) -> None:
        waiting = True
        while waiting and not self.closed.is_set():
            with suppress(queue.Full):
                self.chunks.put(chunk, timeout=_WAIT)
                waiting = False


@contextmanager
def _quick_switches() -> Iterator[None]:
    """Let threads take turns more often, so that the one that computes seldom waits for Python's lock."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, 0.0005))
    try:
        yield
    finally:
        sys.setswitchinterval(before)

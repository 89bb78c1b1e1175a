"""Ctrl-C and SIGTERM as a request to store what is done and to stop.

::

    with interruptible() as interrupted:
        for number, vectors in enumerate(interrupted.each(computed)):
            store(vectors)  # never broken off

or, in a loop that looks for itself, ``if interrupted(): ...``. A second signal has its usual effect, so that a job
which does not come to its end can still be stopped.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from polyseme.errors import Interrupted

Item = TypeVar("Item")


class Interruption:
    """Tells whether a signal asked the job to stop.

    Attributes:
        signal: The number of the signal; None while there was none.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._computing = False

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.signal is not None

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Pass items on until a signal comes, then raise `Interrupted`.

        The computation of the next item is broken off at once; what the caller does with an item never is.
        """
        iterator = iter(items)
        while True:
            self._computing = True
            try:
                self.check()
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self._computing = False
            yield item

    def check(self) -> None:
        """Raise `Interrupted` if a signal came."""
        if self.signal is not None:
            raise Interrupted("interrupted", number=self.signal)

    def _receive(self, number: int) -> None:
        self.signal = number
        if self._computing:
            self.check()


@contextlib.contextmanager
def interruptible(on_signal: Callable[[], None] | None = None) -> Iterator[Interruption]:
    """Note Ctrl-C and SIGTERM while the block runs, instead of dying of them.

    The handlers that were there before come back after the first signal and at the end of the block. Signals that are
    ignored stay ignored. Only the main thread can handle signals; in another one nothing is noted.

    Args:
        on_signal: Called with the first signal, to say that the job is about to stop.
    """
    interruption = Interruption()
    before: dict[int, signal.Handlers | Callable[..., object]] = {}

    def restore() -> None:
        while before:
            number, handler = before.popitem()
            signal.signal(number, handler)

    def handle(number: int, frame: object) -> None:
        restore()
        if on_signal is not None:
            on_signal()
        interruption._receive(number)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler) or handler == signal.SIG_DFL:
                before[number] = handler  # type: ignore[assignment]  # an int that equals a member is not one to mypy
                signal.signal(number, handle)
    try:
        yield interruption
    finally:
        restore()

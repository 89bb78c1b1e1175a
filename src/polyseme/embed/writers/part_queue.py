"""Parts on their way to the disk: stored one after the other, while the next vectors are computed."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from polyseme.embed.writers.base import Part, Record

Store = Callable[[Part, Sequence[Record]], None]


class PartQueue:
    """Stores parts in the order in which they come, in a thread of its own or at once.

    After a part that could not be stored none is: there must be no gap.

    Args:
        store: Stores one part.
        background: Store in a thread.
    """

    def __init__(self, store: Store, *, background: bool) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "polyseme writer") if background else None
        self._waiting: deque[tuple[Part, Future[None]]] = deque()
        self._broken: BaseException | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def stop(self) -> int | None:
        """The number after that of the last sentence in the queue; None if it is empty."""
        return self._waiting[-1][0].stop if self._waiting else None

    @property
    def settled(self) -> bool:
        """Whether the first part is stored, or could not be."""
        return bool(self._waiting) and self._waiting[0][1].done()

    def put(self, part: Part, records: Sequence[Record]) -> None:
        """Store a part."""
        if self._thread is not None:
            future = self._thread.submit(self._try, part, records)
        else:
            future = Future()
            try:
                self._try(part, records)
                future.set_result(None)
            except Exception as error:
                future.set_exception(error)
        self._waiting.append((part, future))

    def take(self) -> Part:
        """Wait until the first part is stored, and take it from the queue.

        Raises:
            OSError: It could not be stored; it stays in the queue.
        """
        part, future = self._waiting[0]
        future.result()
        self._waiting.popleft()
        return part

    def clear(self) -> None:
        """Forget the parts in the queue."""
        self._waiting.clear()

    def close(self) -> None:
        """Wait for the thread to end."""
        if self._thread is not None:
            self._thread.shutdown()

    def _try(self, part: Part, records: Sequence[Record]) -> None:
        if self._broken is not None:
            raise self._broken
        try:
            self._store(part, records)
        except BaseException as error:
            self._broken = error
            raise

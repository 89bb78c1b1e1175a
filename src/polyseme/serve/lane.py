"""Runs what takes long, searches and studies, one after another beside the batches of vectors."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from polyseme.serve.limits import Limits
from polyseme.serve.refusal import Refusal

Result = TypeVar("Result")


class Lane:
    """A thread with a short queue.

    Args:
        limits: How many may wait, and how long.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="studies")
        self.waiting = 0

    async def run(self, compute: Callable[[], Result]) -> Result:
        """The result of a computation.

        Raises:
            Refusal: Too many wait, or it takes too long; it is then computed to its end, but nobody is told.
        """
        if self.waiting >= self._limits.queue:
            raise Refusal(429, "queue_full", f"{self.waiting} requests wait already; try later", {"retry-after": "5"})
        self.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, compute)
        future.add_done_callback(self._done)
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await future  # cancelled if it has not begun when the time is over
        except TimeoutError:
            raise Refusal(504, "timeout", f"no answer within {self._limits.timeout:g} s; ask for less") from None

    def stop(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: "asyncio.Future[Result]") -> None:
        self.waiting -= 1
        if not future.cancelled():
            future.exception()  # so that asyncio does not complain that nobody looked

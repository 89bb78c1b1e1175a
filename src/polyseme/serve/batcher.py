"""Gathers the sentences of many requests into batches, and computes them in one thread."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice
from polyseme.serve.limits import Limits
from polyseme.serve.metrics import Metrics
from polyseme.serve.refusal import Refusal

Compute = Callable[[list[Sequence[str]], LayerChoice], Sequence[Vectors]]
_LOG = logging.getLogger("polyseme.serve")
_LONGEST = 8  # times the wait for one more job: what a batch waits at most
_QUEUED_REQUESTS = 16  # of the largest size: what all waiting requests may hold together


@dataclass(eq=False)
class Job:
    """The sentences of one request.

    Attributes:
        sentences: Lists of tokens.
        layers: Which layers.
        finish: Makes the answer of the vectors; is called in the computing thread.
        tokens: How many there are.
    """

    sentences: Sequence[Sequence[str]]
    layers: LayerChoice
    finish: Callable[[Sequence[Vectors]], bytes]
    tokens: int
    future: asyncio.Future[bytes] = field(init=False, repr=False)


class Batcher:
    """Computes the jobs of an event loop.

    A batch is closed when it has enough tokens, when no other job has come for a while, or when it has waited for long.
    The vectors of a sentence do not depend on its batch.

    Args:
        compute: Sentences and a choice of layers to vectors; is called in one thread only.
        limits: How large batches and the queue may be.
        metrics: Is told of each batch.
    """

    def __init__(self, compute: Compute, limits: Limits, metrics: Metrics) -> None:
        self._compute, self._limits, self._metrics = compute, limits, metrics
        self._jobs: deque[Job] = deque()
        self._tokens = 0
        self._last = 0.0  # when a job came
        self._wakes = threading.Event()  # a first job has come, or enough tokens, or the end
        self._lock = threading.Lock()
        self._idle, self._stopped = True, False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> tuple[int, int]:
        """How many jobs and how many tokens wait."""
        return len(self._jobs), self._tokens

    async def submit(self, job: Job) -> bytes:
        """The answer to a job.

        Raises:
            Refusal: The queue is full, or it took too long.
        """
        self._check_room(job)
        job.future = self._loop.create_future()
        with self._lock:
            self._last = time.monotonic()
            self._jobs.append(job)
            self._tokens += job.tokens
            if self._idle or self._tokens >= self._limits.batch_tokens:
                self._idle = False
                self._wakes.set()
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await job.future
        except TimeoutError:
            self._forget(job)
            raise Refusal(
                504, "timeout", f"no answer within {self._limits.timeout:g} s; send less at a time, or later"
            ) from None

    def stop(self) -> None:
        """Compute what waits, and end the thread."""
        self._stopped = True
        self._wakes.set()
        self._thread.join(self._limits.timeout)

    def _forget(self, job: Job) -> None:
        """Make room, unless the job is being computed."""
        with self._lock, suppress(ValueError):
            self._jobs.remove(job)
            self._tokens -= job.tokens

    def _check_room(self, job: Job) -> None:
        full = len(self._jobs) >= self._limits.queue
        if full or (self._jobs and self._tokens + job.tokens > _QUEUED_REQUESTS * self._limits.tokens):
            raise Refusal(
                429, "queue_full", f"{len(self._jobs)} requests wait already; try again later", {"retry-after": "1"}
            )

    def _run(self) -> None:
        while True:
            self._wakes.wait()
            batch = self._gather()
            if batch:
                self._answer(batch)
            elif self._stopped:
                return

    def _gather(self) -> list[Job]:
        """Wait for others to join the first job, then take those that are computed together."""
        with self._lock:
            self._wakes.clear()
        wait, free = self._limits.wait_ms / 1000, time.monotonic()
        while self._jobs and self._tokens < self._limits.batch_tokens and not self._stopped:
            # Clients that were just answered ask again at once: together they are cheaper than one by one.
            quiet = max(self._last, free) + wait
            if (left := min(quiet, free + _LONGEST * wait) - time.monotonic()) <= 0:
                break
            self._wakes.wait(left)
        with self._lock:
            batch = self._take()
            self._idle = not self._jobs
            if self._jobs or self._stopped:
                self._wakes.set()
            else:
                self._wakes.clear()
        return batch

    def _take(self) -> list[Job]:
        """The jobs at the head of the queue that ask for the same layers."""
        batch: list[Job] = []
        others: deque[Job] = deque()
        tokens = 0
        while self._jobs and (not batch or tokens + self._jobs[0].tokens <= self._limits.batch_tokens):
            job = self._jobs.popleft()
            if not batch or job.layers == batch[0].layers:
                batch.append(job)
                tokens += job.tokens
            else:
                others.append(job)
        self._jobs.extendleft(reversed(others))
        self._tokens -= tokens
        return batch

    def _answer(self, batch: list[Job]) -> None:
        answers = self._answers(batch)
        self._metrics.batches.add(sum(job.tokens for job in batch))
        self._metrics.tokens += sum(job.tokens for job in batch)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_deliver, batch, answers)

    def _answers(self, batch: list[Job]) -> list[bytes | Exception]:
        try:
            vectors = self._compute([sentence for job in batch for sentence in job.sentences], batch[0].layers)
            answers: list[bytes | Exception] = []
            start = 0
            for job in batch:
                answers.append(job.finish(vectors[start : start + len(job.sentences)]))
                start += len(job.sentences)
            return answers
        except Exception as error:  # whatever it is: the thread goes on, and the requests hear of it
            if len(batch) == 1:
                _LOG.exception("a batch could not be computed")
                return [error]
            return [answer for job in batch for answer in self._answers([job])]


def _deliver(batch: list[Job], answers: list[bytes | Exception]) -> None:
    for job, answer in zip(batch, answers, strict=True):
        if job.future.done():
            continue
        if isinstance(answer, bytes):
            job.future.set_result(answer)
        else:
            job.future.set_exception(answer)

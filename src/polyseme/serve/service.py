"""What the server does for each request, from a record to the bytes of an answer."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice
from polyseme.errors import PolysemeError
from polyseme.serve import studies
from polyseme.serve.batcher import Batcher, Job
from polyseme.serve.embeddings import count_tokens, openai_job, tei_job
from polyseme.serve.encoding import as_json
from polyseme.serve.lane import Lane
from polyseme.serve.limits import Limits
from polyseme.serve.metrics import Metrics
from polyseme.serve.parts import Parts
from polyseme.serve.refusal import Refusal, refusal_of
from polyseme.serve.requests import EmbeddingsRequest, EmbedRequest, Input, InputRequest, PredictRequest

_LOG = logging.getLogger("polyseme.serve")
_INLINE = 20_000  # characters that are tokenised at once; more of them are left to a thread


class Service:
    """A server without its HTTP: not ready until it has its parts.

    Args:
        limits: What is refused.

    Attributes:
        metrics: What was done.
        parts: What is served; None while it is opened.
        stopping: Whether new requests are refused.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.metrics = Metrics()
        self.parts: Parts | None = None
        self.stopping = False
        self._batcher: Batcher | None = None
        self._lane = Lane(limits)

    def begin(self, parts: Parts) -> None:
        """Serve these; called in the event loop."""

        def compute(sentences: list[Sequence[str]], layers: LayerChoice) -> list[Vectors]:
            return parts.source.embed(sentences, layers=layers)

        self._batcher = Batcher(compute, self.limits, self.metrics)
        self.parts = parts

    def end(self) -> None:
        """Compute what was taken, and let the threads go."""
        if self._batcher is not None:
            self._batcher.stop()
        self._lane.stop()

    def ready(self) -> Parts:
        """The parts.

        Raises:
            Refusal: They are not opened yet, or the server stops.
        """
        if self.stopping:
            raise Refusal(503, "stopping", "the server is stopping; ask another one", {"retry-after": "5"})
        if self.parts is None:
            raise Refusal(503, "loading", "the model is being loaded; try again soon", {"retry-after": "1"})
        return self.parts

    async def embeddings(self, asked: EmbeddingsRequest) -> bytes:
        """Vectors in OpenAI's shape."""
        parts = self.ready()
        groups = await self.tokenised(parts, asked.input)
        return await self._vectors(lambda: openai_job(parts, self.limits, asked, groups))

    async def embed(self, asked: EmbedRequest) -> bytes:
        """Vectors in the shape of text-embeddings-inference."""
        parts = self.ready()
        groups = await self.tokenised(parts, asked.inputs)
        return await self._vectors(lambda: tei_job(parts, self.limits, asked, groups))

    async def tokens(self, asked: InputRequest) -> bytes:
        """The tokens of texts."""
        parts = self.ready()
        groups = await self.tokenised(parts, asked.input)
        count_tokens(groups, self.limits)
        return self._answer(parts, studies.tokens(groups))

    async def score(self, asked: InputRequest) -> bytes:
        """How likely the tokens of texts are."""
        parts = self.ready()
        groups = await self.tokenised(parts, asked.input)
        count_tokens(groups, self.limits)
        return await self.study(parts, lambda: studies.score(parts, groups))

    async def predict(self, asked: PredictRequest) -> bytes:
        """What the task says about texts."""
        parts = self.ready()
        if asked.input is not None:
            count_tokens(await self.tokenised(parts, asked.input), self.limits)
        return await self.study(parts, lambda: studies.predict(parts, asked))

    async def study(self, parts: Parts, compute: Callable[[], studies.Record]) -> bytes:
        """Whatever takes longer, computed beside the vectors."""
        try:
            return self._answer(parts, await self._lane.run(compute))
        except (PolysemeError, OSError, MemoryError) as error:
            raise self._refusal(error) from error

    async def tokenised(self, parts: Parts, given: Input) -> list[list[Sequence[str]]]:
        """The sentences of each text; a list of tokens is one sentence."""

        def cut() -> list[list[Sequence[str]]]:
            sentences = parts.segmentation.sentences
            return [[*sentences(one)] if isinstance(one, str) else [one] for one in given]

        return cut() if sum(map(len, given)) <= _INLINE else await asyncio.to_thread(cut)

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Values of this moment."""
        requests, tokens = (0, 0) if self._batcher is None else self._batcher.waiting
        return {
            "ready": ("Whether requests are answered.", float(self.parts is not None and not self.stopping)),
            "queue_requests": ("Requests for vectors that wait to be computed.", requests),
            "queue_tokens": ("Their tokens.", tokens),
            "queue_studies": ("Searches, scores and studies that wait or are computed.", self._lane.waiting),
        }

    async def _vectors(self, make: Callable[[], Job]) -> bytes:
        assert self._batcher is not None
        try:
            return await self._batcher.submit(make())
        except (PolysemeError, OSError, MemoryError) as error:
            raise self._refusal(error) from error

    def _answer(self, parts: Parts, record: studies.Record) -> bytes:
        return as_json({**record, "model": parts.name, "fingerprint": parts.fingerprint})

    def _refusal(self, error: PolysemeError | OSError | MemoryError) -> Refusal:
        refusal = refusal_of(error)
        if refusal.status >= 500:
            _LOG.error("%s", error)
        index = self.parts.index if self.parts else None
        if index is not None:  # where its files are is not for clients
            refusal.message = refusal.message.replace(f"{index.name}: ", "")
        return refusal

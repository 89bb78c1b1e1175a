"""A server in this process, around a tiny model."""

import asyncio
import base64
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
from tiny import tiny_model

from polyseme.arrays import Vectors
from polyseme.embed.embedder import Embedder
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.models.model import Model
from polyseme.serve.application import application
from polyseme.serve.limits import Limits
from polyseme.serve.parts import Parts, Predictor
from polyseme.serve.service import Service
from polyseme.text.segmentation import Segmentation

Result = TypeVar("Result")
SENTENCES = [
    [*words.split(), str(number)]
    for number in range(8)
    for words in ("the bank of the river", "money of the bank", "a play of the day")
]


def tiny_parts(
    *, model: Model | None = None, folder: Path | None = None, task: Predictor | None = None, cut: str = "en"
) -> Parts:
    """A tiny model, with an index if there is a folder for it."""
    source = Embedder(model or tiny_model())
    beside = Embedder(source.model)
    return Parts(
        name="tiny",
        fingerprint=source.fingerprint(),
        source=source,
        layers="mean",
        segmentation=Segmentation("en" if cut == "en" else None),
        note=None,
        model=beside,
        index=None if folder is None else OccurrenceIndex.build(beside, SENTENCES, folder / "index"),
        task=task,
    )


@asynccontextmanager
async def serving(
    parts: Parts | None, limits: Limits | None = None, **options: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, Service]]:
    """A client of a server; without parts, of one that is still loading."""
    service = Service(limits or Limits(wait_ms=0))
    transport = httpx.ASGITransport(application(service, **options))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        if parts is not None:
            service.begin(parts)
        yield client, service
    service.end()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a test's coroutine."""
    return asyncio.run(work)


def decoded(text: str) -> Vectors:
    """Vectors from base64."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def error_of(answer: httpx.Response) -> tuple[int, str, str]:
    """The status, the code and the message of a refusal, whose shape is checked."""
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "code", "param"}
    assert "\n" not in body["error"]["message"]
    return answer.status_code, body["error"]["code"], body["error"]["message"]

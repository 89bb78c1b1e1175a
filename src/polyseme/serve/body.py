"""Reads the body of a request, however slowly and however much is sent."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from polyseme.serve.limits import Limits
from polyseme.serve.refusal import Refusal

Message = MutableMapping[str, Any]  # as ASGI defines it
Receive = Callable[[], Awaitable[Message]]

_DRAINED = 8  # times the largest body: what is read and dropped, so that the client sees the answer
_ALL_BODIES = 32  # times the largest body: what all requests together may hold while they arrive


class Disconnected(Exception):  # noqa: N818 - it says what happened
    """The client left before its request was complete."""


class Bodies:
    """The bodies of all requests that are arriving.

    Args:
        limits: How large and how slow they may be.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._held = limits, 0

    async def read(self, receive: Receive) -> bytes:
        """One body.

        Raises:
            Refusal: It is too large or too slow, or there are too many.
            Disconnected: The client left.
        """
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await self._read(receive)
        except TimeoutError:
            raise Refusal(
                408, "slow_request", f"the request took longer than {self._limits.timeout:g} s", {"connection": "close"}
            ) from None

    async def _read(self, receive: Receive) -> bytes:
        largest = self._limits.body_bytes
        chunks: list[bytes] = []
        size = held = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= largest:
                    chunks.append(chunk)
                    held += len(chunk)
                    self._take(len(chunk))
                if not message.get("more_body") or size > _DRAINED * largest:
                    break
        finally:
            self._held -= held
        if size > largest:
            raise Refusal(
                413,
                "body_too_large",
                f"the request is larger than {self._limits.body_mib:g} MiB; send several requests",
                {"connection": "close"},
            )
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _take(self, size: int) -> None:
        self._held += size
        if self._held > _ALL_BODIES * self._limits.body_bytes:
            raise Refusal(503, "busy", "too many large requests arrive at once; try again later", {"retry-after": "1"})

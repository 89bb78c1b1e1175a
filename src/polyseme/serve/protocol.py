"""HTTP for clients that are slow on purpose: a connection that stands still is closed."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 << 10
"""Bytes of the request line and the headers."""
SECONDS = 20.0
"""For the head of a request to arrive, and for a client to read some more of its answer."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class PatientProtocol(HttpToolsProtocol):
    """One connection, with limits on what a client may leave unfinished."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head: int | None = 0  # bytes of a head that is not complete; None between requests
        self._unread = 0  # bytes of an answer that the client has not taken
        self._head_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client came; it has to say something."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client left."""
        _cancel(self._head_timer)
        _cancel(self._answer_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request."""
        super().data_received(data)
        if self._head is not None:
            self._head += len(data)
            if self._head > LARGEST_HEAD and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head = 0
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is complete; the application reads the rest, and has its own limits."""
        self._head = None
        _cancel(self._head_timer)
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """It has read."""
        _cancel(self._answer_timer)
        super().resume_writing()

    def _wait_for_head(self) -> None:
        _cancel(self._head_timer)
        self._head_timer = self.loop.call_later(SECONDS, self.transport.abort)

    def _wait_for_reader(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._answer_timer = self.loop.call_later(SECONDS, self._look_at_reader)

    def _look_at_reader(self) -> None:
        if self.transport.get_write_buffer_size() < self._unread:  # slow, but it reads
            self._wait_for_reader()
        else:
            self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()

"""Who may come in, and what is noted of every request: the outermost part of the application."""

import hmac
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import quote

from polyseme.serve.body import Disconnected, Message, Receive
from polyseme.serve.refusal import Refusal
from polyseme.serve.service import Service

Scope = MutableMapping[str, Any]  # as ASGI defines it
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOG = logging.getLogger("polyseme.serve")
_OPEN = ("/health", "/ready")  # for those who watch over the process
_ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class Gate:
    """Checks requests before the application sees them, and turns every error into JSON of one shape.

    Args:
        application: Answers requests; raises `Refusal`.
        service: What is told of each request.
        token: What a request must bring, if anything.
        hosts: Names by which the server is called; None if any will do. Without a token, a web page elsewhere could
            otherwise have its own name point to this machine and read the answers.
        paths: Those that are counted by their own name.
    """

    def __init__(
        self,
        application: Application,
        service: Service,
        *,
        token: bytes | None,
        hosts: Collection[str] | None,
        paths: Collection[str],
    ) -> None:
        self._application, self._service = application, service
        self._token = None if token is None else b"Bearer " + token
        self._hosts = None if hosts is None else {host.casefold() for host in hosts}
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        metrics, begun, path = self._service.metrics, time.perf_counter(), scope["path"]
        status = 499  # the client left

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers()]
            await send(message)

        metrics.in_flight += 1
        try:
            self._check(scope)
            await self._application(scope, receive, watched)
        except Disconnected:
            pass
        except Exception as error:
            if status != 499:  # the answer has begun: nothing else can be said
                raise
            await _refuse(_as_refusal(error), scope, watched)
        finally:
            metrics.in_flight -= 1
            known = path if path in self._paths else "other"
            metrics.answered(known, status, time.perf_counter() - begun)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if self._hosts is not None and not self._known_host(headers.get(b"host", b"")):
            raise Refusal(421, "unknown_host", "the server is not known by this name; allow it with --allow-host")
        if self._token is not None and scope["path"] not in _OPEN:
            given = b" ".join(headers.get(b"authorization", b"").split(maxsplit=1))
            if not hmac.compare_digest(given, self._token):
                raise Refusal(
                    401, "unauthorized", "send the header Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"}
                )

    def _known_host(self, header: bytes) -> bool:
        name = header.decode("latin-1").casefold()
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        if not name or name in (self._hosts or ()):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # an address, not a name that somebody could point here

    def _headers(self) -> list[tuple[bytes, bytes]]:
        parts = self._service.parts
        if parts is None:
            return _ALWAYS
        name = quote(parts.name).encode("ascii")
        return [*_ALWAYS, (b"x-model", name), (b"x-model-fingerprint", parts.fingerprint.encode("ascii"))]


def _as_refusal(error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    status, detail = getattr(error, "status_code", None), getattr(error, "detail", None)
    if isinstance(status, int) and 400 <= status < 500:  # the router's own: no such path, not this method
        headers = getattr(error, "headers", None)
        return Refusal(status, {404: "no_such_path", 405: "wrong_method"}.get(status, "refused"), str(detail), headers)
    _LOG.error("a request could not be answered", exc_info=error)
    return Refusal(500, "internal", "something went wrong here; the log of the server has the details")


async def _refuse(refusal: Refusal, scope: Scope, send: Send) -> None:
    body = refusal.body()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    listed = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": listed})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

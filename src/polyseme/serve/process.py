"""One process that serves: loads in the background, answers from the start, and stops without losing a request."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType

from polyseme.errors import InputError, MissingPart, PolysemeError
from polyseme.serve.gate import Application
from polyseme.serve.parts import Parts, open_parts
from polyseme.serve.service import Service
from polyseme.serve.settings import Settings, is_loopback, read_token

try:
    import uvicorn

    from polyseme.serve.application import application
    from polyseme.serve.protocol import PatientProtocol
except ModuleNotFoundError as error:
    raise MissingPart("the server needs uvicorn and httptools; pip install 'polyseme[serve]'") from error

_LOG = logging.getLogger("polyseme.serve")
_BACKLOG = 1024
_KEEP_ALIVE = 75  # seconds that an idle connection stays open
_LINGER = 5.0  # seconds after the time limit, in which answers are sent

Told = Callable[[str], None]
"""Is given lines for the one who runs the server."""


class Server(uvicorn.Server):
    """Stops as it is told: first refuses what is new, then finishes what it took, then leaves.

    Args:
        config: Of uvicorn.
        service: Is told when to refuse.
        parent: Is set when the process that started this one is gone, which ends this one too.
    """

    def __init__(self, config: uvicorn.Config, service: Service, parent: threading.Event | None = None) -> None:
        super().__init__(config)
        self._service, self._parent = service, parent
        self._deadline = float("inf")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal came; a second one ends everything at once."""
        if self._service.stopping:
            self.should_exit = self.force_exit = True
        self._service.stopping = True
        self._deadline = time.monotonic() + self._service.limits.timeout + _LINGER

    async def on_tick(self, counter: int) -> bool:
        """Whether to leave; asked ten times a second."""
        if self._parent is not None and self._parent.is_set() and not self._service.stopping:
            self.handle_exit(0, None)
        done = self._service.stopping and not self._service.metrics.in_flight
        if done or time.monotonic() > self._deadline:
            self.should_exit = True
        return await super().on_tick(counter)


class Opening:
    """Opens the parts beside a server that answers already.

    Args:
        settings: What to open.
        service: Gets the parts; stops if they cannot be opened.
        told: Is told when they are open.
        loaded: The parts, if they are open already.

    Attributes:
        error: Why they cannot be opened.
    """

    def __init__(self, settings: Settings, service: Service, told: Told, loaded: Parts | None) -> None:
        self._settings, self._service, self._told, self._loaded = settings, service, told, loaded
        self.error: PolysemeError | OSError | MemoryError | None = None

    async def start(self) -> None:
        """Begin; called in the event loop."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._open, args=(loop,), daemon=True).start()

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            parts = open_parts(self._settings) if self._loaded is None else self._loaded
        except (PolysemeError, OSError, MemoryError) as error:
            self.error = error
            self._service.stopping = True
            return
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._service.begin, parts)
        self._told(_ready_line(parts))


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; several processes may share it.

    Raises:
        InputError: The address cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise InputError(
            f"{host}:{port}: cannot be listened to ({error.strerror}); choose another --host or --port"
        ) from error
    listener.set_inheritable(True)
    return listener


def serve(
    settings: Settings,
    listener: socket.socket,
    told: Told,
    *,
    parent: threading.Event | None = None,
    loaded: Parts | None = None,
) -> None:
    """Serve until a signal comes.

    Args:
        settings: What, and to whom.
        listener: Where.
        told: Is told when the model is ready.
        parent: Is set when the process that started this one is gone.
        loaded: The parts, if they are open already.

    Raises:
        PolysemeError: The parts cannot be opened.
    """
    service = Service(settings.limits)
    opening = Opening(settings, service, told, loaded)
    hosts = ("localhost", *settings.allowed_hosts)
    trusted = settings.token_file is not None or not is_loopback(settings.host)
    app = application(
        service,
        token=None if settings.token_file is None else read_token(settings.token_file),
        hosts=None if trusted else hosts,
        started=opening.start,
    )
    Server(_config(app), service, parent).run(sockets=[listener])
    if opening.error is not None:
        raise opening.error


def _config(app: Application) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(_LINGER),
        backlog=_BACKLOG,
    )


def _ready_line(parts: Parts) -> str:
    note = f"; {parts.note}" if parts.note else ""
    return f"{parts.name} ({parts.fingerprint}) is ready{note}"

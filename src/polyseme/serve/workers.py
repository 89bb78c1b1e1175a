"""Several processes that serve at one address: started, started again when one dies, and stopped together."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from polyseme.errors import InputError, PolysemeError
from polyseme.serve.parts import open_parts
from polyseme.serve.process import Told, serve
from polyseme.serve.settings import Settings

_EARLY = 60.0  # seconds: a worker that ends sooner, without a signal, has met something that will not go away
_TRIES = 3  # such ends in a row
_PAUSE = 0.2  # seconds between looks
_REPLACES = "replaces"  # the argument of a worker that takes requests only when it can answer them, as others do so far
_LONGER = 15.0  # seconds beyond the time limit that workers have to stop


class Workers:
    """Starts workers and watches over them.

    Args:
        settings: What each of them serves.
        listener: The socket that all of them accept from.
        told: Is told of workers that died.
    """

    def __init__(self, settings: Settings, listener: socket.socket, told: Told) -> None:
        self._settings, self._listener, self._told = settings, listener, told
        self._workers: list[subprocess.Popen[str]] = []
        self._begun: dict[int, float] = {}
        self._failures = 0
        self._stop = threading.Event()

    def run(self) -> None:
        """Serve until a signal comes.

        Raises:
            InputError: Workers end again and again.
        """
        before = {number: signal.signal(number, self._signalled) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._workers = [self._start() for _ in range(self._settings.workers)]
            while not self._stop.wait(_PAUSE):
                self._workers = [self._alive(worker) for worker in self._workers]
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    def _start(self, *, replaces: bool = False) -> "subprocess.Popen[str]":
        arguments = [str(self._listener.fileno()), *([_REPLACES] if replaces else [])]
        worker = subprocess.Popen(
            [sys.executable, "-m", "polyseme.serve.workers", *arguments],
            pass_fds=[self._listener.fileno()],
            stdin=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            process_group=0,  # Ctrl-C reaches this process, which then stops them
        )
        assert worker.stdin is not None
        with suppress(BrokenPipeError):  # it died already: seen at the next look
            worker.stdin.write(self._settings.model_dump_json() + "\n")
            worker.stdin.flush()  # left open: its end tells the worker that this process is gone
        self._begun[worker.pid] = time.monotonic()
        return worker

    def _alive(self, worker: "subprocess.Popen[str]") -> "subprocess.Popen[str]":
        """The worker, or a new one in its place."""
        code = worker.poll()
        if code is None:
            return worker
        early = code >= 0 and time.monotonic() - self._begun.pop(worker.pid) < _EARLY
        self._failures = self._failures + 1 if early else 0
        if self._failures >= _TRIES:
            raise InputError(f"{_TRIES} workers in a row ended soon after their start (code {code}); see above why")
        self._told(f"worker {worker.pid} ended with code {code}; starting another")
        _close(worker)
        return self._start(replaces=True)

    def _end(self) -> None:
        for worker in self._workers:
            with suppress(ProcessLookupError):
                worker.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + self._settings.limits.timeout + _LONGER
        for worker in self._workers:
            try:
                worker.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            _close(worker)


def _close(worker: "subprocess.Popen[str]") -> None:
    with suppress(OSError):
        if worker.stdin is not None:
            worker.stdin.close()


def _work() -> int:
    """Serve as one of several; the settings come as the first line of standard input, which ends with the parent."""
    settings = Settings.model_validate_json(sys.stdin.readline())
    gone = threading.Event()

    def watch() -> None:
        sys.stdin.read()
        gone.set()

    threading.Thread(target=watch, daemon=True).start()
    listener = socket.socket(fileno=int(sys.argv[1]))

    def tell(line: str) -> None:
        sys.stderr.write(f"polyseme: worker {os.getpid()}: {line}\n")

    try:
        loaded = open_parts(settings) if _REPLACES in sys.argv[2:] else None
        serve(settings, listener, tell, parent=gone, loaded=loaded)
    except (PolysemeError, OSError, MemoryError) as error:
        tell(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_work())

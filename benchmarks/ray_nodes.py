"""Several nodes of a Ray cluster as processes of this machine, which can be killed one by one."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

_WAIT = 120.0
_HERE = "127.0.0.1"


class RayNodes:
    """A cluster of nodes on this machine; the first one is its head.

    Args:
        nodes: How many.
        processors: Of each node.
        store: Bytes of each node's object store.

    Attributes:
        address: Of the cluster.
        environment: For programs that connect to it.
    """

    def __init__(self, nodes: int = 2, *, processors: int = 1, store: int = 300_000_000) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ray-"))  # a short path: sockets allow no long one
        self._options = ["--num-cpus", str(processors), "--object-store-memory", str(store), "--block"]
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._port = _free_port()
        self.address = f"{_HERE}:{self._port}"
        self._mark = secrets.token_hex(8)
        # Ray asks for a token by default; this cluster has one of its own.
        self.environment = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
        }
        try:
            for _ in range(nodes):
                self.add_node()
        except BaseException:
            self.close()
            raise

    def add_node(self) -> None:
        """Start one more node and wait until it runs."""
        self._nodes.append(self._start(len(self._nodes)))

    def revive_node(self, number: int) -> None:
        """Start a node again that was killed."""
        self._nodes[number] = self._start(number)

    def _start(self, number: int) -> "subprocess.Popen[bytes]":
        head = ["--head", "--port", str(self._port), "--include-dashboard", "false", "--temp-dir", str(self._folder)]
        which = ["--address", self.address] if number else head
        command = [str(Path(sys.executable).with_name("ray")), "start", "--node-ip-address", _HERE]
        log = (self._folder / f"node-{number}.log").open("wb")
        # The mark in the environment tells processes of this cluster from all others.
        environment = {**self.environment, "POLYSEME_RAY_NODE": self._node_mark(number)}
        with log:
            node = subprocess.Popen(
                [*command, *which, *self._options], stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        begun = time.monotonic()
        while b"Ray runtime started" not in Path(log.name).read_bytes():
            if node.poll() is not None or time.monotonic() - begun > _WAIT:
                raise RuntimeError(f"a node did not start: {Path(log.name).read_text()[-2000:]}")
            time.sleep(0.1)
        return node

    def actors(self) -> list[int]:
        """The processes that embed, on all nodes."""
        return [process for process in self._processes(self._mark) if _title(process).startswith("ray::Worker")]

    def processor_seconds(self) -> dict[int, float]:
        """Seconds of the processor that each process of the cluster has used so far."""
        found: dict[int, float] = {}
        for process in self._processes(self._mark):
            with contextlib.suppress(OSError, IndexError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                found[process] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    def kill_node(self, number: int) -> None:
        """Kill every process of a node at once, as a power cut would."""
        for process in self._processes(self._node_mark(number)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._nodes[number].wait()

    def close(self) -> None:
        """End all nodes."""
        for process in self._processes(self._mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for node in self._nodes:
            node.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _node_mark(self, number: int) -> str:
        return f"{self._mark}-{number}"

    def _processes(self, mark: str) -> Iterator[int]:
        """The processes that have a mark in their environment; only those of this user can be looked at."""
        wanted = f"POLYSEME_RAY_NODE={mark}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    variables = (entry / "environ").read_bytes().split(b"\0")
                    if any(one.startswith(wanted) for one in variables):
                        yield int(entry.name)


def _title(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])

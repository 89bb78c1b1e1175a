"""The server as a process: it starts, answers, survives, and stops without losing a request."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import numpy as np
import pytest
from conftest import Command, refused
from serving import decoded, error_of
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.formats import native
from polyseme.serve import protocol

LONG = 120.0  # seconds that a busy machine may take


@pytest.fixture
def model(tmp_path: Path) -> Path:
    native.write(tiny_model(), tmp_path / "tiny")
    return tmp_path / "tiny"


@contextmanager
def started(*options: object) -> Iterator[tuple[httpx.Client, "subprocess.Popen[str]", list[str]]]:
    """A server with a client; its lines are gathered as they come."""
    command = [sys.executable, "-m", "polyseme", "serve", *map(str, options), "--port", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        found = re.search(r"http://\S+?(?=;)", lines[0])
        assert found, lines
        stderr = process.stderr
        reader = threading.Thread(target=lambda: lines.extend(stderr), daemon=True)
        reader.start()
        try:
            with httpx.Client(base_url=found[0], timeout=LONG) as client:
                yield client, process, lines
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(LONG)
            reader.join(LONG)


def wait_for(what: str, client: httpx.Client) -> None:
    until = time.monotonic() + LONG
    while client.get(what).status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_start_answer_stop(model: Path) -> None:
    with started(model, "--layers", "top", "--wait-ms", "400") as (client, process, lines):
        assert client.get("/health").json()["status"] == "ok"  # as soon as there is an address
        wait_for("/ready", client)
        answer: list[httpx.Response] = []
        body = {"input": [["the", "bank"]], "encoding_format": "base64"}
        asking = threading.Thread(target=lambda: answer.append(client.post("/v1/embeddings", json=body)))
        asking.start()
        until = time.monotonic() + LONG
        with httpx.Client(base_url=client.base_url, timeout=LONG) as other:
            while "polyseme_queue_requests 1" not in other.get("/metrics").text and not answer:
                assert time.monotonic() < until
            process.send_signal(signal.SIGTERM)  # while the first request waits for others
            asking.join(LONG)
        assert process.wait(LONG) == 0
        (item,) = answer[0].json()["data"]
        wanted = Embedder(tiny_model()).embed_sentences([["the", "bank"]], layers="top")
        np.testing.assert_array_equal(decoded(item["embedding"]), wanted[0])
    assert lines[1].startswith("polyseme: tiny (")
    assert len(lines) == 2


def test_stopping_refuses_what_is_new(model: Path) -> None:
    with started(model, "--wait-ms", "1500") as (client, process, _):
        wait_for("/ready", client)
        answer: list[int] = []
        body = {"inputs": "the bank"}
        asking = threading.Thread(target=lambda: answer.append(client.post("/embed", json=body).status_code))
        asking.start()
        with httpx.Client(base_url=client.base_url, timeout=LONG) as other:
            while "polyseme_queue_requests 1" not in other.get("/metrics").text:
                assert not answer
            process.send_signal(signal.SIGTERM)
            while (late := other.post("/embed", json=body)).status_code == 200:  # the signal has not arrived yet
                assert not answer
            assert error_of(late)[:2] == (503, "stopping")
        asking.join(LONG)
        assert answer == [200]
        assert process.wait(LONG) == 0


def test_workers(model: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef")
    options = (model, "--workers", 2, "--token-file", tmp_path / "token")
    with started(*options) as (client, process, lines):
        client.headers["authorization"] = "Bearer 0123456789abcdef"
        until = time.monotonic() + LONG
        while sum("is ready" in line for line in lines) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        found = re.search(r"worker (\d+)", lines[1])
        assert found
        os.kill(int(found[1]), signal.SIGKILL)
        while sum("is ready" in line for line in lines) < 3:
            # A new connection each time: what the dead one had accepted is gone with it.
            assert httpx.get(client.base_url.join("/ready"), headers=client.headers, timeout=LONG).status_code == 200
            assert time.monotonic() < until
        assert any(line.startswith(f"polyseme: worker {found[1]} ended with code -9; starting") for line in lines)
        assert httpx.get(client.base_url.join("/metrics"), timeout=LONG).status_code == 401
        process.terminate()
        assert process.wait(LONG) == 0


def test_a_model_that_cannot_be_opened(run: Command, tmp_path: Path) -> None:
    absent = run("serve", tmp_path / "absent", "--port", 0)
    assert absent.code == 2
    listening, reason = absent.err.splitlines()
    assert listening.startswith("polyseme: listening at http://127.0.0.1:")
    assert "absent: no such file or folder" in reason
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(run("serve", "english-small", "--port", port), f"127.0.0.1:{port}: cannot be listened to (Address")
    refused(run("serve", "english-small", "--host", "0.0.0.0"), "others could reach the server without a token")
    refused(run("serve", "english-small", "--queue", 0), "limits.queue: should be at least 1, got 0")


def test_clients_that_stand_still(model: Path) -> None:
    """Garbage, a head without end and a body that never comes: each is answered or closed, and others are served."""
    with started(model, "--timeout", "1") as (client, _, lines):
        wait_for("/ready", client)
        address = (client.base_url.host, client.base_url.port or 0)

        def talk(*parts: bytes) -> bytes:
            with socket.create_connection(address, timeout=LONG) as talking:
                for part in parts:
                    try:
                        talking.sendall(part)
                    except OSError:
                        break
                got = b""
                with suppress(OSError):
                    while some := talking.recv(1 << 16):
                        got += some
                return got

        head = b"POST /embed HTTP/1.1\r\nhost: localhost\r\n"
        assert talk(b"\x16\x03\x01 what\r\n\r\n").startswith(b"HTTP/1.1 400")
        endless = [head, *([b"x-long: " + b"a" * 8000 + b"\r\n"] * 20)]
        assert talk(*endless)[:12] in (b"HTTP/1.1 431", b"")  # the answer may be lost as the connection is reset
        slow = talk(head + b"content-length: 100\r\n\r\n{")
        assert slow.startswith(b"HTTP/1.1 408")
        assert json.loads(slow.partition(b"\r\n\r\n")[2])["error"]["code"] == "slow_request"
        assert talk(head + b"connection: close\r\ncontent-length: 3\r\n\r\n{}}").startswith(b"HTTP/1.1 422")
        assert client.get("/ready").status_code == 200
        assert not any("Traceback" in line for line in lines)


def _never_read(port: int) -> None:
    """Ask for a large answer, read nothing of it, and go on asking until the connection is closed."""
    body = json.dumps({"input": "a " * 15_000, "pool": "none", "layers": "all"}).encode()
    ask = b"POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=LONG) as client:
        wait_for("/ready", client)
    reset = pytest.raises(ConnectionError)  # reset or broken, as the server gives up
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as deaf, reset:
        deaf.sendall(ask)
        while True:
            deaf.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            time.sleep(0.1)


def test_protocol_gives_up(model: Path) -> None:
    assert protocol.SECONDS <= 30
    script = (
        "import sys; from polyseme.serve import protocol; protocol.SECONDS = 0.3; "
        "from polyseme.cli.main import main; main()"
    )
    command = [sys.executable, "-c", script, "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2].partition(";")[0])
        for said in (b"", b"POST /embed HT", b"POST /embed HTTP/1.1\r\nhost: loc"):
            with socket.create_connection(("127.0.0.1", port), timeout=LONG) as silent:
                silent.sendall(said)
                with suppress(ConnectionResetError):
                    assert silent.recv(100) == b""
        _never_read(port)
        process.terminate()
        assert process.wait(LONG) == 0

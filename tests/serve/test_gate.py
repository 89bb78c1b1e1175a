"""Who gets in, what is counted, and what a stranger can reach."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from serving import error_of, run, serving, tiny_parts

from polyseme.serve.limits import Limits

TOKEN = b"0123456789abcdef0123"


def get(
    path: str, headers: dict[bytes, bytes] | None = None, *, loaded: bool = True, **options: object
) -> httpx.Response:
    async def work() -> httpx.Response:
        async with serving(tiny_parts() if loaded else None, **options) as (client, _):  # type: ignore[arg-type]
            return await client.get(path, headers=headers)

    return run(work())


def test_health_and_ready() -> None:
    assert get("/health", loaded=False).json() == {"status": "ok"}
    waiting = get("/ready", loaded=False)
    assert error_of(waiting) == (503, "loading", "the model is being loaded; try again soon")
    assert waiting.headers["retry-after"] == "1"
    ready = get("/ready")
    assert ready.status_code == 200
    assert ready.json()["model"] == "tiny"
    assert ready.json()["fingerprint"] == ready.headers["x-model-fingerprint"]
    assert get("/v1/models").json()["data"][0]["id"] == "tiny"


def test_a_stopping_server_refuses_what_is_new() -> None:
    async def work() -> list[httpx.Response]:
        async with serving(tiny_parts()) as (client, service):
            service.stopping = True
            return [await client.get("/ready"), await client.post("/embed", json={"inputs": "a"})]

    for answer in run(work()):
        assert error_of(answer)[:2] == (503, "stopping")


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (None, 401),
        ("Bearer wrong", 401),
        (f"Bearer {TOKEN.decode()}x", 401),
        (f"Basic {TOKEN.decode()}", 401),
        ("Bearer ünsinn", 401),
        (f"Bearer {TOKEN.decode()}", 200),
        (f"Bearer  {TOKEN.decode()}", 200),
    ],
)
def test_token(given: str | None, status: int) -> None:
    headers = {} if given is None else {b"authorization": given.encode()}
    answer = get("/v1/models", headers, token=TOKEN)
    assert answer.status_code == status
    if status == 401:
        assert error_of(answer)[1:] == ("unauthorized", "send the header Authorization: Bearer TOKEN")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert get("/health", headers, token=TOKEN).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("api.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example:8000", 421),
    ],
)
def test_names_of_the_server(host: str, status: int) -> None:
    assert get("/health", {b"host": host.encode()}, hosts=("localhost", "api.example")).status_code == status


@pytest.mark.parametrize(
    "path",
    [
        "/static/../gate.py",
        "/static/%2e%2e/gate.py",
        "/static/..%2fgate.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..%5c..%5cgate.py",
        "/static/%00",
        "/static/",
        "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/v1/embeddings/",
        "/HEALTH",
        "/" + "a" * 5000,
    ],
)
def test_path_tricks(path: str) -> None:
    answer = get(path)
    assert error_of(answer)[:2] in ((404, "no_such_path"), (405, "wrong_method"))


def test_wrong_method() -> None:
    answer = get("/v1/embeddings")
    assert error_of(answer)[:2] == (405, "wrong_method")
    assert answer.headers["allow"] == "POST"


def test_pages_ask_nothing_outside() -> None:
    for path in ("/", "/docs"):
        page = get(path)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["content-security-policy"].startswith("default-src 'self'")
        assert not re.search(r"(src|href)=.?(https?:)?//", page.text)
        assert "<script" not in page.text
        assert "POST /v1/embeddings" in page.text
    assert get("/static/pages.css").headers["content-type"].startswith("text/css")


def test_openapi_describes_every_path() -> None:
    described = get("/openapi.json").json()
    posts = {path for path, methods in described["paths"].items() if "post" in methods}
    assert posts == {
        *("/v1/embeddings", "/embed", "/tokens", "/score", "/substitutes"),
        *("/nearest", "/similar", "/senses", "/predict"),
        *(f"/explore/{name}" for name in ("occurrences", "word", "group", "nearest", "senses", "compare")),
    }
    for path in posts:
        post = described["paths"][path]["post"]
        schema = post["requestBody"]["content"]["application/json"]["schema"]
        assert schema["$ref"].rpartition("/")[2] in described["components"]["schemas"]
        assert {"200", "401", "409", "413", "422", "429", "503", "504"} <= set(post["responses"])


def test_metrics() -> None:
    async def work() -> str:
        async with serving(tiny_parts()) as (client, _):
            for _ in range(3):
                await client.post("/v1/embeddings", json={"input": "the bank of"})
            await client.post("/v1/embeddings", json={})
            await client.get("/nowhere/at/all")
            return (await client.get("/metrics")).text

    lines = run(work()).splitlines()
    assert 'polyseme_requests_total{path="/v1/embeddings",status="200"} 3' in lines
    assert 'polyseme_requests_total{path="/v1/embeddings",status="422"} 1' in lines
    assert 'polyseme_requests_total{path="other",status="404"} 1' in lines
    assert 'polyseme_request_seconds_count{path="/v1/embeddings"} 4' in lines
    assert 'polyseme_request_seconds_bucket{path="/v1/embeddings",le="+Inf"} 4' in lines
    assert "polyseme_tokens_total 9" in lines
    assert "polyseme_queue_requests 0" in lines
    assert "polyseme_requests_in_flight 1" in lines  # this one
    assert any(line.startswith('polyseme_info{model="tiny",') for line in lines)
    names = {re.split(r"[ {]", line)[0] for line in lines if not line.startswith("#")}
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in names} <= typed


def test_a_slow_body() -> None:
    async def drops() -> AsyncIterator[bytes]:
        yield b'{"input": '
        await asyncio.sleep(30)
        yield b'"a"}'

    async def work() -> httpx.Response:
        async with serving(tiny_parts(), Limits(timeout=0.2)) as (client, _):
            return await client.post("/embed", content=drops())

    answer = run(work())
    assert error_of(answer) == (408, "slow_request", "the request took longer than 0.2 s")
    assert answer.headers["connection"] == "close"


def test_a_body_without_length_that_never_ends() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1 << 10
            yield b"x" * (1 << 10)

    async def work() -> httpx.Response:
        async with serving(tiny_parts(), Limits(body_mib=0.01)) as (client, _):
            return await client.post("/embed", content=endless())

    assert error_of(run(work()))[:2] == (413, "body_too_large")
    assert sent < 10 * 0.01 * (1 << 20)


def test_many_large_bodies_at_once() -> None:
    """What all requests hold together is bounded, and is given back."""

    async def half(gate: asyncio.Event) -> AsyncIterator[bytes]:
        yield b'{"inputs":"' + b"a" * 900
        await gate.wait()
        yield b'"}'

    async def work() -> tuple[list[int], int]:
        async with serving(tiny_parts(), Limits(body_mib=1000 / (1 << 20))) as (client, _):
            gate = asyncio.Event()
            asked = [asyncio.create_task(client.post("/embed", content=half(gate))) for _ in range(40)]
            done, _ = await asyncio.wait(asked, timeout=1)
            gate.set()
            answers = await asyncio.gather(*asked)
            again = await client.post("/embed", json={"inputs": "a"})
            assert {answer.result().status_code for answer in done} == {503}
            return [answer.status_code for answer in answers], again.status_code

    statuses, again = run(work())
    assert sorted(set(statuses)) == [200, 503]
    assert again == 200

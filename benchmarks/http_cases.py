"""Hostile requests, made from the description of an interface: right, nearly right, damaged, and nonsense."""

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

STATUSES = frozenset({0, 200, 401, 404, 405, 408, 409, 413, 421, 422, 429, 503, 504})
"""What a request may get; 0 if the client left before it was complete."""
_TEXTS = [
    "",
    "a",
    "the [bank] of",
    "[",
    "]]",
    "\u0000",
    "银行。河岸",
    "🏞️" * 9,
    "a\u0301" * 30,
    "x" * 3000,
    "a. B! " * 90,
]
_ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**64,
    1.5,
    1e308,
    "mean",
    "all",
    [],
    {},
    [[]],
    [[[]]],
    [None],
    {"a": {}},
]
_RAW = [
    b"",
    b"\xff\xfe\x00",
    b'{"input": "\xc3\x28"}',
    b'{"input": "\\ud800"}',
    b"[" * 20_000,
    b'{"a":' * 20_000,
    b'{"input":' + b"9" * 20_000 + b"}",
    b'{"input": 1e999999}',
    b'{"input": NaN}',
    b'{"input": "a"} {"input": "b"}',
    b'{"input": "a", "input": 7}',
    b"null",
    b"\x00" * 100,
    "\ufeff{}".encode(),
]
_PATHS = [
    "/",
    "/static/../gate.py",
    "/static/%2e%2e/x",
    "//",
    "/v1",
    "/v1/embeddings/",
    "/\x00",
    "/" + "a" * 9000,
    "/é",
    "",
]
_METHODS = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "POST", "TRACE", "QUATSCH"]


class Case(NamedTuple):
    """One request; the body comes in pieces, and the client may leave after them."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: list[bytes]
    leaves: bool


def paths_of(described: dict[str, Any]) -> set[str]:
    """The paths of a description."""
    return set(described["paths"])


def complaint(case: Case, status: int, body: bytes, known: set[str]) -> str | None:
    """What is wrong with an answer, if anything."""
    if status not in STATUSES or (status == 0 and not case.leaves):
        return "a status that is not expected"
    if b"Traceback" in body or b"/polyseme/" in body:
        return "the inside of the server is shown"
    if case.method == "HEAD" or status == 0:
        return None
    if status != 200:
        error = json.loads(body)["error"]
        right = isinstance(error["message"], str) and error["message"] and "\n" not in error["message"]
        return None if right and error["type"] and error["code"] else "an error of another shape"
    if case.path in known and case.path not in ("/metrics", "/docs"):
        json.loads(body)
    return None


def cases(draw: random.Random, described: dict[str, Any], largest: int) -> Iterator[Case]:
    """Requests without end.

    Args:
        draw: Decides all of it.
        described: The OpenAPI description.
        largest: Bytes of the largest body that is allowed.
    """
    schemas = described["components"]["schemas"]
    posts = {
        path: schemas[methods["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]]
        for path, methods in described["paths"].items()
        if "post" in methods
    }
    while True:
        path = draw.choice([*posts])
        body = _body(draw, posts[path], largest)
        method = "POST" if draw.random() < 0.95 else draw.choice(_METHODS)
        target = path if draw.random() < 0.95 else draw.choice([*_PATHS, *described["paths"]])
        yield Case(method, target, _headers(draw, body), _pieces(draw, body), leaves=draw.random() < 0.02)


def _body(draw: random.Random, schema: dict[str, Any], largest: int) -> bytes:
    kind = draw.random()
    if kind < 0.1:
        return draw.choice(_RAW)
    if kind < 0.12:
        return b'{"input": "' + b"a " * largest + b'"}'
    record = {
        name: _value(draw, field) if draw.random() < 0.9 else _odd(draw)
        for name, field in schema["properties"].items()
        if name in schema.get("required", ()) or draw.random() < 0.3
    }
    if draw.random() < 0.1:
        record[draw.choice(["", "x", "input", "k"])] = _odd(draw)
    body = json.dumps(record, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    if draw.random() < 0.1 and body:  # damaged on its way
        at = draw.randrange(len(body))
        body = body[:at] + draw.randbytes(draw.randint(0, 3)) + body[at + draw.randint(0, 3) :]
    return body


def _value(draw: random.Random, schema: dict[str, Any]) -> Any:
    """Something that a field allows, or nearly."""
    options = schema.get("oneOf") or schema.get("anyOf")
    if options:
        return _value(draw, draw.choice(options))
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match schema.get("type"):
        case "string":
            return draw.choice(_TEXTS)
        case "integer":
            return draw.choice([0, 1, 2, 3, schema.get("maximum", 9), schema.get("maximum", 9) + 1, -1])
        case "boolean":
            return draw.random() < 0.5
        case "array":
            return [_value(draw, schema.get("items", {})) for _ in range(draw.choice([0, 1, 2, 5, 40]))]
        case "null":
            return None
        case _:
            return _odd(draw)


def _odd(draw: random.Random) -> Any:
    return draw.choice([*_ODD, *_TEXTS])


def _headers(draw: random.Random, body: bytes) -> list[tuple[bytes, bytes]]:
    headers = [(b"host", b"localhost"), (b"content-length", str(len(body)).encode())]
    if draw.random() < 0.2:
        headers.append((draw.choice([b"content-type", b"authorization", b"x"]), draw.randbytes(draw.randint(0, 30))))
    return headers


def _pieces(draw: random.Random, body: bytes) -> list[bytes]:
    if draw.random() < 0.8:
        return [body]
    at = draw.randint(0, len(body))
    return [body[:at], b"", body[at:]]

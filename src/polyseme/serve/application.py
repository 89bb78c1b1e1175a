"""Which path is answered by what: the service as an application for a web server."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar, cast, get_type_hints

from polyseme import __version__
from polyseme.errors import MissingPart
from polyseme.files.whole import JSON
from polyseme.serve import explored, pages, studies
from polyseme.serve.body import Bodies, Receive
from polyseme.serve.encoding import as_json
from polyseme.serve.explore_requests import (
    CompareRequest,
    GroupRequest,
    MapNearestRequest,
    MapSensesRequest,
    PointsRequest,
    WordRequest,
)
from polyseme.serve.gate import Application, Gate, Scope, Send
from polyseme.serve.parts import Parts
from polyseme.serve.refusal import Refusal
from polyseme.serve.requests import (
    NearestRequest,
    Request,
    SensesRequest,
    SimilarRequest,
    SubstitutesRequest,
    parse,
)
from polyseme.serve.service import Service

try:
    from fastapi import FastAPI
    from fastapi import Request as HttpRequest
    from fastapi.responses import Response
    from fastapi.staticfiles import StaticFiles
except ModuleNotFoundError as error:
    raise MissingPart("the server needs FastAPI, which is not installed; pip install 'polyseme[serve]'") from error

Asked = TypeVar("Asked", bound=Request)
Handler = Callable[[HttpRequest], Coroutine[Any, Any, Response]]
Posted = Callable[[Receive], Awaitable[bytes]]
_JSON = "application/json"
_HEAD = [(b"content-type", b"application/json")]
_ERROR: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("message", "type", "code")},
            "required": ["message", "type", "code"],
        }
    },
    "required": ["error"],
}
_REFUSALS = {
    401: "The token is missing or wrong.",
    408: "The request arrived too slowly.",
    409: "The server was not started with what this needs.",
    413: "Too large, or too many tokens.",
    422: "Not what is expected.",
    429: "Too many requests wait.",
    503: "Not loaded yet, or stopping.",
    504: "Not computed in time.",
}


def application(
    service: Service,
    *,
    token: bytes | None = None,
    hosts: Collection[str] | None = None,
    started: Callable[[], Awaitable[None]] | None = None,
) -> Application:
    """The application, as ASGI servers run it.

    Args:
        service: Answers requests.
        token: What every request must bring, if anything.
        hosts: Names by which the server may be called; None for any.
        started: Is awaited when the server starts; opens the parts.
    """
    described = _described(service, started)
    posts = _add_posts(described, service)
    _add_gets(described, service)
    _add_explorer(described, service)
    described.mount("/static", StaticFiles(directory=pages.STATIC), name="static")
    # The router alone: FastAPI's layers around it handle errors and measure, as the gate does.
    router = cast("Application", described.router)
    paths = [getattr(route, "path", "") for route in described.routes]

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        answer = posts.get(scope["path"]) if scope.get("method") == "POST" else None
        if answer is None:
            scope["app"] = described
            await router(scope, receive, send)
            return
        body = await answer(receive)
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEAD, _length(body)]})
        await send({"type": "http.response.body", "body": body})

    return Gate(routed, service, token=token, hosts=hosts, paths=paths)


def _described(service: Service, started: Callable[[], Awaitable[None]] | None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if started is not None:
            await started()
        yield
        service.end()

    return FastAPI(
        title="polyseme",
        version=__version__,
        summary="Contextual word vectors",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )


def _add_posts(app: FastAPI, service: Service) -> dict[str, Posted]:
    """Describe the requests that are posted; FastAPI's own parsing and routing would cost more than the vectors."""
    bodies = Bodies(service.limits)
    posts: dict[str, Posted] = {}

    def study(compute: Callable[[Parts, Asked], studies.Record], kind: type[Asked]) -> Callable[..., Awaitable[bytes]]:
        async def answer(asked: Asked) -> bytes:
            parts = service.ready()
            return await service.study(parts, partial(compute, parts, asked))

        answer.__annotations__ = {"asked": kind, "return": bytes}
        return answer

    for path, answer, summary in (
        ("/v1/embeddings", service.embeddings, "Vectors of texts or tokens, in OpenAI's shape."),
        ("/embed", service.embed, "Vectors of texts, in the shape of text-embeddings-inference."),
        ("/tokens", service.tokens, "The sentences and tokens of texts, as the model reads them."),
        ("/score", service.score, "How likely each token is, given what is before and behind it."),
        ("/substitutes", study(studies.substitutes, SubstitutesRequest), "Words that would fit in a place."),
        ("/nearest", study(studies.nearest, NearestRequest), "Occurrences of the index that mean the same."),
        ("/similar", study(studies.similar, SimilarRequest), "Words like a word, in the index or the model."),
        ("/senses", study(studies.senses, SensesRequest), "The senses of a word in the index."),
        ("/predict", service.predict, "What the task says about texts or examples."),
        ("/explore/occurrences", study(explored.points, PointsRequest), "The sentences of points of the map."),
        ("/explore/group", study(explored.group, GroupRequest), "What a group of points has in common."),
        ("/explore/word", study(explored.word, WordRequest), "The occurrences of a word, with their points."),
        ("/explore/senses", study(explored.senses, MapSensesRequest), "The senses of a word on the map."),
        ("/explore/nearest", study(explored.nearest, MapNearestRequest), "Occurrences that mean the same, and points."),
        ("/explore/compare", study(explored.compared, CompareRequest), "A word in two texts, or two words in one."),
    ):
        kind = get_type_hints(answer)["asked"]
        posts[path] = _posted(answer, kind, bodies)
        _describe(app, path, summary, kind)
    return posts


def _add_gets(app: FastAPI, service: Service) -> None:
    async def health(_: HttpRequest) -> Response:
        return _json({"status": "ok", **_named(service)})

    async def ready(_: HttpRequest) -> Response:
        service.ready()
        return _json({"status": "ready", **_named(service)})

    async def models(_: HttpRequest) -> Response:
        parts = service.ready()
        one: JSON = {"id": parts.name, "object": "model", "created": 0, "owned_by": "polyseme", **_named(service)}
        return _json({"object": "list", "data": [one], **_named(service)})

    async def metrics(_: HttpRequest) -> Response:
        info = {name: str(value) for name, value in _named(service).items()}
        return Response(service.metrics.text(service.gauges(), info), media_type="text/plain; version=0.0.4")

    async def openapi(_: HttpRequest) -> Response:
        return _json(app.openapi())

    async def overview(_: HttpRequest) -> Response:
        named = {"model": "loading", "fingerprint": "", **_named(service)}
        page = pages.overview(app.openapi(), str(named["model"]), str(named["fingerprint"]))
        return Response(page, media_type="text/html", headers={"content-security-policy": pages.POLICY})

    _get(app, "/v1/models", models, "The model, in OpenAI's shape.")
    _get(app, "/health", health, "200 as soon as the process lives.")
    _get(app, "/ready", ready, "200 when the model is loaded, 503 before.")
    _get(app, "/metrics", metrics, "Counters of this process, as Prometheus reads them.")
    _get(app, "/openapi.json", openapi, "The description of this interface.")
    _get(app, "/docs", overview, "The list of these paths, for people.")
    app.router.add_route("/", overview, methods=["GET", "HEAD"], include_in_schema=False)


def _add_explorer(app: FastAPI, service: Service) -> None:
    async def page(_: HttpRequest) -> Response:
        explored.explorer_of(service.ready())
        return Response(pages.explorer(), media_type="text/html", headers={"content-security-policy": pages.EXPLORER})

    async def facts(_: HttpRequest) -> Response:
        return _json({**explored.explorer_of(service.ready()).facts(), **_named(service)})

    async def array(request: HttpRequest) -> Response:
        found = explored.explorer_of(service.ready()).array(request.path_params["name"])
        if found is None:
            raise Refusal(404, "no_such_array", "the map has no array of this name; /explore/map lists them")
        return Response(found, media_type="application/octet-stream")

    _get(app, "/explore", page, "The explorer, for people.")
    _get(app, "/explore/map", facts, "What the map shows.")
    _get(app, "/explore/arrays/{name}", array, "Numbers about each point, little-endian.")


def _posted(answer: Callable[..., Awaitable[bytes]], kind: type[Request], bodies: Bodies) -> Posted:
    async def handle(receive: Receive) -> bytes:
        return await answer(parse(kind, await bodies.read(receive)))

    return handle


def _describe(app: FastAPI, path: str, summary: str, kind: type[Request]) -> None:
    async def endpoint(asked: object) -> None:
        raise AssertionError("posts are answered before they come to the router")

    endpoint.__annotations__ = {"asked": kind, "return": None}
    app.post(path, summary=summary, operation_id=_operation(path), responses=_refusals(*_REFUSALS))(endpoint)


def _get(app: FastAPI, path: str, handle: Handler, summary: str) -> None:
    async def endpoint() -> None:
        raise AssertionError("the route before this one answers")

    app.router.add_route(path, handle, methods=["GET", "HEAD"], include_in_schema=False)
    app.get(path, summary=summary, operation_id=_operation(path), responses=_refusals(401, 503))(endpoint)


def _refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: {"description": _REFUSALS[code], "content": {_JSON: {"schema": _ERROR}}} for code in codes}


def _operation(path: str) -> str:
    return path.strip("/").replace("/", "_").replace(".", "_")


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", b"%d" % len(body)


def _named(service: Service) -> dict[str, JSON]:
    parts = service.parts
    return {} if parts is None else {"model": parts.name, "fingerprint": parts.fingerprint}


def _json(value: dict[str, JSON]) -> Response:
    return Response(as_json(value), media_type=_JSON)

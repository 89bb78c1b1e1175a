"""From a request for vectors to the bytes of its answer."""

from collections.abc import Callable, Sequence

import numpy as np

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice, check_choice
from polyseme.embed.source import pool_tokens
from polyseme.serve.batcher import Job
from polyseme.serve.encoding import as_base64, as_floats, as_json
from polyseme.serve.limits import Limits
from polyseme.serve.parts import Parts
from polyseme.serve.refusal import Refusal
from polyseme.serve.requests import EmbeddingsRequest, EmbedRequest, PoolName

Groups = Sequence[Sequence[Sequence[str]]]
"""The sentences of each text."""


def openai_job(parts: Parts, limits: Limits, asked: EmbeddingsRequest, groups: Groups) -> Job:
    """The job of a request in OpenAI's shape."""
    layers = parts.layers if asked.layers is None else asked.layers
    _check(parts, asked.model, asked.dimensions, layers, asked.pool)
    encode = as_base64 if asked.encoding_format == "base64" else as_floats
    tokens = _count(parts, limits, groups, layers, asked.pool)
    usage = b"%d" % tokens
    tail = b'],"model":%b,"fingerprint":"%b","usage":{"prompt_tokens":%b,"total_tokens":%b}}' % (
        as_json(parts.name),
        parts.fingerprint.encode("ascii"),
        usage,
        usage,
    )

    def finish(vectors: Sequence[Vectors]) -> bytes:
        items = [
            b'{"object":"embedding","index":%d,"embedding":%b%b}'
            % (number, encode(array), _described(array, some) if asked.pool == "none" else b"")
            for number, (array, some) in enumerate(zip(_each(vectors, groups, asked.pool), groups, strict=True))
        ]
        return b'{"object":"list","data":[' + b",".join(items) + tail

    return _job(groups, layers, finish, tokens)


def tei_job(parts: Parts, limits: Limits, asked: EmbedRequest, groups: Groups) -> Job:
    """The job of a request in the shape of text-embeddings-inference, whose answer is a bare list."""
    _check(parts, None, asked.dimensions, parts.layers, "mean")
    tokens = _count(parts, limits, groups, parts.layers, "mean")

    def finish(vectors: Sequence[Vectors]) -> bytes:
        rows = np.stack(_each(vectors, groups, "mean"))
        if asked.normalize:
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            rows /= np.maximum(length, np.finfo(np.float32).tiny)
        return as_floats(rows)

    return _job(groups, parts.layers, finish, tokens)


def count_tokens(groups: Groups, limits: Limits) -> int:
    """How many tokens there are.

    Raises:
        Refusal: More than are allowed.
    """
    tokens = sum(len(sentence) for some in groups for sentence in some)
    if tokens > limits.tokens:
        raise Refusal(
            413, "too_many_tokens", f"{tokens:,} tokens, at most {limits.tokens:,} in a request; send several requests"
        )
    return tokens


def _check(parts: Parts, model: str | None, dimensions: int | None, layers: LayerChoice, pool: PoolName) -> None:
    """Refuse what this model cannot give."""
    if model is not None and model not in (parts.name, parts.fingerprint, parts.source.path):
        raise Refusal(
            404, "model_not_found", f"there is no model {model[:80]!r} here; this server has {parts.name!r} alone"
        )
    if dimensions is not None and dimensions != parts.source.dim:
        raise Refusal(
            422, "invalid_request", f"dimensions: vectors have {parts.source.dim} and are not shortened, leave it out"
        )
    check_choice(layers, parts.source.layers)
    if layers == "all" and pool != "none":
        raise Refusal(
            422, "invalid_request", "layers: one vector per text is of one layer; choose mean, top or a number"
        )


def _count(parts: Parts, limits: Limits, groups: Groups, layers: LayerChoice, pool: PoolName) -> int:
    """The number of tokens, if those and their vectors are not too many."""
    tokens = count_tokens(groups, limits)
    rows = len(groups) if pool != "none" else tokens * (parts.source.layers if layers == "all" else 1)
    if rows * parts.source.dim > limits.answer_numbers:
        raise Refusal(
            413,
            "answer_too_large",
            f"{rows:,} vectors of {parts.source.dim:,} numbers, at most {limits.answer_mib:g} MiB in an answer; send "
            "several requests",
        )
    return tokens


def _job(groups: Groups, layers: LayerChoice, finish: Callable[[Sequence[Vectors]], bytes], tokens: int) -> Job:
    return Job([sentence for some in groups for sentence in some or ((),)], layers, finish, tokens)


def _each(vectors: Sequence[Vectors], groups: Groups, pool: PoolName) -> list[Vectors]:
    """What each text gets: one vector over all its tokens, or those of its tokens."""
    result = []
    start = 0
    for some in groups:
        end = start + max(1, len(some))  # a text without tokens has one empty sentence
        rows = vectors[start] if end == start + 1 else np.concatenate(vectors[start:end], axis=-2)  # (T, D), (L, T, D)
        result.append(rows if pool == "none" else pool_tokens(rows, pool))
        start = end
    return result


def _described(array: Vectors, sentences: Sequence[Sequence[str]]) -> bytes:
    """What belongs to the vectors of tokens: their tokens, sentence by sentence, and the shape of the array."""
    return b',"tokens":%b,"shape":%b' % (as_json([[*one] for one in sentences]), as_json([*array.shape]))

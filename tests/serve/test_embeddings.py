"""Vectors over HTTP are those of the embedder, to the bit, whatever they are computed with."""

import asyncio
import json
import random
from pathlib import Path

import httpx
import numpy as np
import pytest
from serving import decoded, error_of, run, serving, tiny_parts
from tiny import tiny_model

from polyseme.arrays import Vectors
from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.source import VectorSource
from polyseme.serve.limits import Limits
from polyseme.serve.parts import open_parts
from polyseme.serve.settings import Settings
from polyseme.text.corpus import Corpus

WORDS = ["the", "river", "bank", "of", "money", "play", "a", "wet", "day's", "end"]


def reference() -> Embedder:
    return Embedder(tiny_model())


def ask(path: str, body: object, limits: Limits | None = None) -> httpx.Response:
    async def work() -> httpx.Response:
        async with serving(tiny_parts(), limits) as (client, _):
            return await client.post(path, json=body)

    return run(work())


def test_openai_shape() -> None:
    answer = ask("/v1/embeddings", {"input": "The river bank.", "model": "tiny"})
    body = answer.json()
    fingerprint = reference().fingerprint()
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert (answer.headers["x-model"], answer.headers["x-model-fingerprint"]) == ("tiny", fingerprint)
    (vector,) = reference().embed_sentences([["The", "river", "bank", "."]])
    (item,) = body.pop("data")
    assert (item["object"], item["index"]) == ("embedding", 0)
    np.testing.assert_array_equal(np.array(item["embedding"], dtype=np.float32), vector)
    usage = {"prompt_tokens": 4, "total_tokens": 4}
    assert body == {"object": "list", "model": "tiny", "fingerprint": fingerprint, "usage": usage}


def test_base64_texts_of_several_sentences_and_empty_ones() -> None:
    answer = ask("/v1/embeddings", {"input": ["A bank. A river!", "", "play"], "encoding_format": "base64"}).json()
    rows = [decoded(item["embedding"]) for item in answer["data"]]
    first, second, third = reference().embed([["A", "bank", "."], ["A", "river", "!"], ["play"]], layers="mean")
    np.testing.assert_array_equal(rows[0], np.concatenate([first, second]).mean(axis=0))
    np.testing.assert_array_equal(rows[1], np.zeros(12, dtype=np.float32))
    np.testing.assert_array_equal(rows[2], third[0])
    assert answer["usage"]["total_tokens"] == 7


@pytest.mark.parametrize("layers", ["mean", "top", 0, 1, 2])
@pytest.mark.parametrize("pool", ["mean", "max"])
def test_layers_and_pool_of_tokens(layers: str | int, pool: str) -> None:
    sentence = ["the", "bank", "of", "money"]
    answer = ask("/v1/embeddings", {"input": [sentence], "layers": layers, "pool": pool, "encoding_format": "base64"})
    wanted = reference().embed_sentences([sentence], layers=layers, pool=pool)  # type: ignore[arg-type]
    np.testing.assert_array_equal(decoded(answer.json()["data"][0]["embedding"]), wanted[0])


def test_vectors_of_tokens() -> None:
    body = {"input": "A bank. Rivers!", "layers": "all", "pool": "none"}
    (item,) = ask("/v1/embeddings", body).json()["data"]
    wanted = np.concatenate(reference().embed([["A", "bank", "."], ["Rivers", "!"]]), axis=1)  # (L, T, D)
    assert item["tokens"] == [["A", "bank", "."], ["Rivers", "!"]]
    assert item["shape"] == [3, 5, 12] == [*wanted.shape]
    np.testing.assert_array_equal(np.array(item["embedding"], dtype=np.float32), wanted)
    (packed,) = ask("/v1/embeddings", {**body, "encoding_format": "base64"}).json()["data"]
    np.testing.assert_array_equal(decoded(packed["embedding"]).reshape(packed["shape"]), wanted)


def test_text_embeddings_inference_shape() -> None:
    plain = np.array(ask("/embed", {"inputs": ["the bank", "a river"], "normalize": False}).json(), dtype=np.float32)
    np.testing.assert_array_equal(plain, reference().embed_sentences([["the", "bank"], ["a", "river"]]))
    unit = np.array(ask("/embed", {"inputs": "the bank", "truncate": True}).json())
    np.testing.assert_allclose(unit, plain[:1] / np.linalg.norm(plain[0]), rtol=1e-6)
    assert ask("/embed", {"inputs": ""}).json() == [[0.0] * 12]


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        ({"input": "a", "model": "ada"}, 404, "model_not_found", "no model 'ada' here; this server has 'tiny' alone"),
        ({"input": "a", "dimensions": 3}, 422, "invalid_request", "vectors have 12 and are not shortened"),
        ({"input": "a", "layers": 7}, 422, "invalid_input", "unknown layer 7; expected one of 0, 1, 2"),
        ({"input": "a", "layers": "all"}, 422, "invalid_request", "choose mean, top or a number"),
        ({"input": "a", "layers": True}, 422, "invalid_request", "layers: expected 'all', 'mean', 'top' or the number"),
        ({"input": []}, 422, "invalid_request", "a list of texts or a list of token lists [['The', 'bank']], got []"),
        ({"input": [1, 2]}, 422, "invalid_request", "got [1, 2]"),
        ({"input": [["a", 1]]}, 422, "invalid_request", "sentence 0 is ['a', 1], expected a list of tokens"),
        ({"input": ["a", ["b"]]}, 422, "invalid_request", "got ['a', ['b']]"),
        ({}, 422, "invalid_request", "input: is missing"),
        ({"input": "a", "inputs": "b"}, 422, "invalid_request", "inputs: is not a setting that is known here"),
        ({"input": "a", "encoding_format": "hex"}, 422, "invalid_request", "encoding_format: should be 'float' or"),
        ([], 422, "invalid_request", "should be an object"),
    ],
)
def test_refused(body: object, status: int, code: str, message: str) -> None:
    got = error_of(ask("/v1/embeddings", body))
    assert got[:2] == (status, code)
    assert message in got[2]


def test_limits() -> None:
    limits = Limits(tokens=3, body_mib=0.001, answer_mib=0.0001, wait_ms=0)
    assert error_of(ask("/v1/embeddings", {"input": "a b c d"}, limits)) == (
        413,
        "too_many_tokens",
        "4 tokens, at most 3 in a request; send several requests",
    )
    assert error_of(ask("/tokens", {"input": "a b c d"}, limits))[:2] == (413, "too_many_tokens")
    assert error_of(ask("/v1/embeddings", {"input": "x" * 2000}, limits))[:2] == (413, "body_too_large")
    assert error_of(ask("/v1/embeddings", {"input": "a b c", "pool": "none"}, limits))[:2] == (413, "answer_too_large")
    assert ask("/v1/embeddings", {"input": "a b c"}, limits).status_code == 200


def _texts(draw: random.Random, count: int) -> list[str]:
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for _ in range(count)]


async def _in_random_groups(
    client: httpx.AsyncClient, texts: list[str], draw: random.Random, layers: list[str | int]
) -> dict[tuple[str, str | int], Vectors]:
    """Every text with every choice of layers, in requests of random sizes that are sent at random times."""
    found: dict[tuple[str, str | int], Vectors] = {}

    async def one(group: list[str], choice: str | int) -> None:
        await asyncio.sleep(draw.random() / 20)
        body = {"input": group, "encoding_format": "base64", "layers": choice}
        answer = (await client.post("/v1/embeddings", json=body)).json()
        for text, item in zip(group, answer["data"], strict=True):
            found[text, choice] = decoded(item["embedding"])

    groups = []
    for choice in layers:
        rest = draw.sample(texts, len(texts))
        while rest:
            size = draw.randint(1, 7)
            groups.append((rest[:size], choice))
            del rest[:size]
    draw.shuffle(groups)
    await asyncio.gather(*(one(*group) for group in groups))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_batch_does_not_matter(seed: int) -> None:
    draw = random.Random(seed)
    texts = list(dict.fromkeys(_texts(draw, 60)))
    limits = Limits(wait_ms=draw.choice([0, 1, 5]), batch_tokens=draw.choice([20, 200, 5000]))

    async def work() -> dict[tuple[str, str | int], Vectors]:
        async with serving(tiny_parts(cut="spaces"), limits) as (client, _):
            return await _in_random_groups(client, texts, draw, ["mean", "top", 0])

    found = run(work())
    assert len(found) == 3 * len(texts)
    for choice in ("mean", "top", 0):
        wanted = reference().embed_sentences([text.split() for text in texts], layers=choice)
        for text, vector in zip(texts, wanted, strict=True):
            np.testing.assert_array_equal(found[text, choice], vector)


def test_a_served_sentence_has_the_vector_of_the_command(tmp_path: Path) -> None:
    """The bundled model in int8, in random groups, against a file that ``polyseme embed`` would write."""
    draw = random.Random(5)
    texts = list(dict.fromkeys(_texts(draw, 80)))
    (tmp_path / "text.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    parts = open_parts(Settings(model="english-small", precision="int8", tokenize="none"))
    source: VectorSource = parts.source
    corpus = Corpus([str(tmp_path / "text.txt")], tokenize="none")
    embed_corpus(source, corpus, tmp_path / "vectors.npz", layers="mean", pool="mean")

    async def work() -> dict[tuple[str, str | int], Vectors]:
        async with serving(parts, Limits(wait_ms=2)) as (client, _):
            return await _in_random_groups(client, texts, draw, ["mean"])

    found = run(work())
    with np.load(tmp_path / "vectors.npz") as stored:
        wanted = stored["vectors"]
    assert wanted.shape == (len(texts), 256)
    for text, vector in zip(texts, wanted, strict=True):
        np.testing.assert_array_equal(found[text, "mean"], vector)


def test_openai_client() -> None:
    """The library itself, if it is installed: it sends base64 and decodes it."""
    openai = pytest.importorskip("openai")

    async def work() -> list[float]:
        async with serving(tiny_parts()) as (client, _):
            library = openai.AsyncOpenAI(api_key="none", base_url="http://localhost/v1", http_client=client)
            made = await library.embeddings.create(model="tiny", input=["the bank"])
            return list(made.data[0].embedding)

    np.testing.assert_array_equal(
        np.array(run(work()), dtype=np.float32), reference().embed_sentences([["the", "bank"]])[0]
    )


def test_numbers_read_back_as_they_are() -> None:
    """Shortest decimals: the text of a float32 reads back as the same float32, and JSON of Python as well."""
    answer = ask("/v1/embeddings", {"input": "the bank", "pool": "none"})
    (item,) = json.loads(answer.content)["data"]
    (wanted,) = reference().embed([["the", "bank"]], layers="mean")
    assert np.array(item["embedding"], dtype=np.float32).tobytes() == wanted.tobytes()

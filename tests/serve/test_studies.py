"""Scores, substitutes, searches, senses and predictions over HTTP are those of the library."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest
from serving import SENTENCES, error_of, run, serving, tiny_parts
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.embed.load import load
from polyseme.errors import FormatError, InputError
from polyseme.formats import native
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.serve.parts import Parts, Predictor, open_parts
from polyseme.serve.settings import Settings, read_token
from polyseme.study.sense_induction import induce_senses
from polyseme.tasks.examples import Example, Text


def ask(parts: Parts, path: str, body: object) -> httpx.Response:
    async def work() -> httpx.Response:
        async with serving(parts) as (client, _):
            return await client.post(path, json=body)

    return run(work())


def test_tokens() -> None:
    body = ask(tiny_parts(), "/tokens", {"input": ["It's a bank. No!", ""]}).json()
    assert body["data"] == [
        {"index": 0, "sentences": [["It", "'s", "a", "bank", "."], ["No", "!"]]},
        {"index": 1, "sentences": []},
    ]
    assert body["model"] == "tiny"
    assert body["fingerprint"] == tiny_parts().fingerprint


def test_score() -> None:
    body = ask(tiny_parts(), "/score", {"input": ["the river. A bank", "play"]}).json()
    wanted = Embedder(tiny_model()).score([["the", "river", "."], ["A", "bank"], ["play"]])
    (first, second), (third,) = (one["sentences"] for one in body["data"])
    for got, scores in zip((first, second, third), wanted, strict=True):
        np.testing.assert_array_equal(np.array([got["forward"], got["backward"]], dtype=np.float32), scores.T)
    assert second["tokens"] == ["A", "bank"]
    assert second["known"] == [False, True]


def test_substitutes() -> None:
    wanted = Embedder(tiny_model()).substitutes(["the", "river", "bank"], 1, k=3)
    for body in (
        {"sentence": "the [river] bank", "k": 3},
        {"sentence": ["the", "river", "bank"], "position": 1, "k": 3},
    ):
        got = ask(tiny_parts(), "/substitutes", body).json()
        assert (got["sentence"], got["position"]) == (["the", "river", "bank"], 1)
        assert got["data"] == [one.to_dict() for one in wanted]


def test_index(tmp_path: Path) -> None:
    parts = tiny_parts(folder=tmp_path)
    index = OccurrenceIndex(tmp_path / "index", Embedder(tiny_model()))
    near = ask(parts, "/nearest", {"sentence": "the [bank] of money", "k": 4, "words": "other", "group": True}).json()
    wanted = index.nearest(["the", "bank", "of", "money"], 1, k=4, words="other", group=True)
    assert near["data"] == [one.to_dict() for one in wanted]
    like = ask(parts, "/similar", {"word": "bank", "k": 3}).json()
    assert (like["by"], like["data"]) == ("contexts", [one.to_dict() for one in index.similar("bank", k=3)])
    senses = ask(parts, "/senses", {"word": "bank", "senses": 2}).json()
    assert senses["senses"] == induce_senses(index, "bank", senses=2).to_dict()["senses"]


def test_similar_by_the_model() -> None:
    got = ask(tiny_parts(), "/similar", {"word": "bank", "k": 2}).json()
    assert got["by"] == "model"
    assert len(got["data"]) == 2


def test_what_is_not_there(tmp_path: Path) -> None:
    parts, indexed = tiny_parts(), tiny_parts(folder=tmp_path)
    no_index = (409, "no_index", "this server has no index; start it with --index INDEX")
    assert error_of(ask(parts, "/nearest", {"sentence": "a [b]"})) == no_index
    assert error_of(ask(parts, "/senses", {"word": "a"})) == no_index
    assert error_of(ask(parts, "/similar", {"word": "a", "by": "contexts"})) == no_index
    assert error_of(ask(parts, "/predict", {"input": "a"})) == (
        *(409, "no_task"),
        "this server has no task; start it with --task TASK",
    )
    status, code, message = error_of(ask(indexed, "/senses", {"word": "absent"}))
    assert (status, code) == (422, "invalid_input")
    assert message == "no occurrence of 'absent'; it is not in the text, or was not chosen"  # no path of the server
    bare = tiny_parts(model=tiny_model(softmax=False))
    assert error_of(ask(bare, "/score", {"input": "a"}))[:2] == (409, "missing_part")
    assert error_of(ask(parts, "/substitutes", {"sentence": "a b"}))[:2] == (422, "invalid_input")
    assert error_of(ask(parts, "/substitutes", {"sentence": ["a"], "position": 4}))[:2] == (422, "invalid_input")
    assert error_of(ask(parts, "/substitutes", {"sentence": "[a]", "k": 10**9}))[:2] == (422, "invalid_request")


class Opinions:
    """A task that likes everything."""

    name = "classify"

    def predict(self, given: str | Path | Iterable[Sequence[str]]) -> list[Example]:
        if isinstance(given, Path):
            raise InputError(f"{given}: line 1: has no column text; name it")
        sentences = [given.split()] if isinstance(given, str) else given
        return [Text(tuple(sentence), "positive") for sentence in sentences]


def test_predict() -> None:
    task: Predictor = Opinions()
    parts = tiny_parts(task=task)
    positive = [{"index": 0, "predictions": [{"tokens": ["so", "good"], "label": "positive"}]}]
    for given in ("so good", [["so", "good"]]):
        got = ask(parts, "/predict", {"input": given}).json()
        assert (got["task"], got["data"]) == ("classify", positive)
    assert error_of(ask(parts, "/predict", {"examples": [{"x": 1}]})) == (
        *(422, "invalid_input"),
        "examples: line 1: has no column text; name it",
    )
    assert error_of(ask(parts, "/predict", {}))[2] == "give either input or examples"


def test_predict_with_a_trained_task(tmp_path: Path) -> None:
    tasks = pytest.importorskip("polyseme.tasks.task")
    data = [Text(("so", word), label) for word, label in (("good", "yes"), ("bad", "no")) for _ in range(10)]
    native.write(tiny_model(), tmp_path / "model")
    task = tasks.Task.train("classify", data, tmp_path / "task", vectors=[str(tmp_path / "model")], epochs=1)
    parts = open_parts(Settings(model=str(tmp_path / "model"), task=tmp_path / "task"))
    got = ask(parts, "/predict", {"input": [["so", "good"]]}).json()
    (wanted,) = task.predict([["so", "good"]])
    assert got["data"][0]["predictions"][0]["label"] == wanted.label
    (by_record,) = ask(parts, "/predict", {"examples": [{"text": "so good"}]}).json()["data"]
    assert by_record["predictions"][0]["label"] == wanted.label


def test_parts(tmp_path: Path) -> None:
    native.write(tiny_model(), tmp_path / "model")
    native.write(tiny_model(seed=1), tmp_path / "other")
    OccurrenceIndex.build(load(str(tmp_path / "model")), SENTENCES, tmp_path / "index")
    parts = open_parts(Settings(model=str(tmp_path / "model"), index=tmp_path / "index", precision="bfloat16"))
    assert parts.name == "model"
    assert parts.index is not None
    assert (parts.source.precision, parts.index.embedder.precision) == ("bfloat16", "float32")  # as it was built
    with pytest.raises(InputError, match=r"was built with model \w+, but other is \w+; serve the model that the index"):
        open_parts(Settings(model=str(tmp_path / "other"), index=tmp_path / "index"))
    with pytest.raises(InputError, match="unknown layer 9"):
        open_parts(Settings(model=str(tmp_path / "model"), layers="9"))


def test_a_damaged_file_is_no_fault_of_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise FormatError("/secret/index/shard: damaged; build it again")

    parts = tiny_parts(folder=tmp_path)
    monkeypatch.setattr(OccurrenceIndex, "nearest", broken)
    got = error_of(ask(parts, "/nearest", {"sentence": "a [bank]"}))
    assert got == (503, "storage", "a file of the server cannot be used now; its log says which")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_others_need_a_token(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--host {host}: others could reach the server without a token"):
        Settings(model="m", host=host).check()
    Settings(model="m", host=host, insecure=True).check()
    (tmp_path / "token").write_text("0123456789abcdef\n")
    Settings(model="m", host=host, token_file=tmp_path / "token").check()
    assert read_token(tmp_path / "token") == b"0123456789abcdef"
    for host_here in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        Settings(model="m", host=host_here).check()


@pytest.mark.parametrize("content", ["", "short", "two words of a passphrase", "ünsinnünsinnünsinn"])
def test_bad_tokens(content: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        read_token(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"expected one word of at least 16 ASCII characters; make one with: openssl"):
        read_token(path)

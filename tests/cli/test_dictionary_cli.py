"""A dictionary for Chinese text, in every command that cuts text into tokens."""

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from conftest import Command, refused
from tiny import tiny_model

import polyseme
from polyseme.embed.load import load_embedder
from polyseme.formats import native

NOVEL = "玄德甚喜。操大怒曰：“玄德公。”\n"
MINI = (
    *("--preset", "tiny", "--filters", "1:8,2:16", "--character-dim", "4", "--hidden-dim", "16", "--layers", "1"),
    *("--projection-dim", "8", "--batch-tokens", "256", "--min-count", "1", "--epochs", "1", "--precision", "float32"),
)
TOKENS = [["玄德", "甚", "喜", "。"], ["操", "大", "怒", "曰", "：", "“", "玄德", "公", "。", "”"]]


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    (tmp_path / "novel.txt").write_text(NOVEL, encoding="utf-8")
    return tmp_path / "novel.txt"


@pytest.fixture
def zh(tmp_path: Path) -> tuple[object, ...]:
    """The options of Chinese text with names."""
    (tmp_path / "names.txt").write_text("玄德\n操\n", encoding="utf-8")
    return "--tokenize", "zh", "--dictionary", tmp_path / "names.txt"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    native.write(tiny_model(), tmp_path / "model")
    return tmp_path / "model"


def test_a_model_of_names(run: Command, novel: Path, zh: tuple[object, ...], tmp_path: Path) -> None:
    novel.write_text(NOVEL * 20, encoding="utf-8")
    model = tmp_path / "names-model"
    assert run("train", novel, "-o", model, *zh, *MINI).code == 0
    assert {"玄德", "操", "甚", "怒"} <= set((model / "vocabulary.txt").read_text(encoding="utf-8").split())
    with_names, without = (
        json.loads(run("evaluate", model, novel, *options, "--json").out) for options in (zh, ("--tokenize", "char"))
    )
    # The model remembers the words, so that nothing has to be said.
    (tmp_path / "names.txt").unlink()
    assert json.loads(run("info", model, "--json").out)["dictionary"] == 2
    for options in ((), zh[:2]):
        assert json.loads(run("evaluate", model, novel, *options, "--json").out) == with_names
    assert run("index", novel, "-m", model, "-o", tmp_path / "index").code == 0
    best = json.loads(run("nearest", tmp_path / "index", "玄德[甚]喜。", "-k", 1, "--json").out)
    assert best["sentence"] == TOKENS[0]
    assert polyseme.load(model).tokenize(NOVEL) == TOKENS
    (tmp_path / "names.txt").write_text("玄德\n操\n", encoding="utf-8")
    assert with_names["unknown_share"] == 0 < without["unknown_share"]
    scores = [json.loads(line)["tokens"] for line in run("score", model, novel, *zh, "--json").out.splitlines()]
    assert scores[:2] == TOKENS
    # 玄德 and the rest of the sentence are the words the model knows: it gives the place what it was trained on.
    found = json.loads(run("substitutes", model, "玄德[甚]喜。", *zh, "-k", 30, "--json").out)["results"]
    cut = load_embedder(model).substitutes(["玄德", "甚", "喜", "。"], 1, k=30)
    assert found == [one.to_dict() for one in cut]


def test_embedding(run: Command, novel: Path, zh: tuple[object, ...], model: Path, tmp_path: Path) -> None:
    arguments = ("embed", novel, "-m", model, "-o", tmp_path / "out.parquet", "--layers", "top")
    run(*arguments, *zh)
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet")["token"].to_pylist() == [*TOKENS[0], *TOKENS[1]]


def test_an_interrupted_embedding_goes_on_with_the_same_words_alone(
    run: Command, novel: Path, zh: tuple[object, ...], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("embed", novel, "-m", model, "-o", tmp_path / "out.npz", *zh)
    with monkeypatch.context() as patch:
        patch.setattr("polyseme.embed.writers.writer.VectorWriter._finish", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(*arguments)
    (tmp_path / "names.txt").write_text("玄德\n", encoding="utf-8")
    refused(run(*arguments, "--resume"), 'dictionary was "2 words (')


def test_an_index_cuts_queries_with_the_words_it_was_built_with(
    run: Command, novel: Path, zh: tuple[object, ...], model: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    run("index", novel, "-m", model, "-o", index, *zh)
    (tmp_path / "names.txt").unlink()  # the index has the words themselves
    best = json.loads(run("nearest", index, "玄德[甚]喜。", "-k", 1, "--json").out)["results"][0]
    assert best["sentence"] == TOKENS[0]
    assert best["similarity"] == pytest.approx(1, abs=1e-3)
    found = json.loads(run("similar", "玄德", "--index", index, "--least", 1, "--json").out)["results"]
    assert "操" in {one["word"] for one in found}
    refused(run("index", novel, "-m", model, "-o", index, "--append", *zh[:2]), "was built with another dictionary")


def test_change(run: Command, novel: Path, zh: tuple[object, ...], model: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("玄德笑曰。", encoding="utf-8")
    found = json.loads(run("change", "玄德", novel, tmp_path / "other.txt", "-m", model, *zh, "--json").out)["results"]
    assert [(one["word"], one["old"], one["new"]) for one in found] == [("玄德", 2, 1)]


def test_refusals(run: Command, novel: Path, zh: tuple[object, ...], model: Path, tmp_path: Path) -> None:
    names = zh[2:]
    refused(
        run("index", novel, "-m", model, "-o", tmp_path / "index", *names), "a dictionary is for the tokenizer 'zh'"
    )
    refused(
        run("train", novel, "-o", tmp_path / "new", "--tokenize", "char", *names, *MINI), "not for the tokenizer 'char'"
    )
    refused(run("substitutes", model, "a [play]", "--tokenize", "en", *names), "leave it out, or tokenize by 'zh'")
    (tmp_path / "names.txt").write_bytes(b"\xb2\xdc\xb2\xd9\n")
    refused(run("score", model, novel, *zh), "names.txt: the dictionary cannot be read")
    refused(run("train", novel, "-o", tmp_path / "new", *zh, *MINI), "give UTF-8 text, one word per line")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "new.training").exists()

"""Text follows the model, in every command that reads text."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from conftest import Command
from tiny import tiny_model

from polyseme.formats import native

RAW = "It's a river, and the bank of it. The bank is steep.\n"
TOKENS = ["It", "'s", "a", "river", ",", "and", "the", "bank", "of", "it", ".", "The", "bank", "is", "steep", "."]
CUT = "It 's a river , and the bank of it .\nThe bank is steep .\n"
FOLLOWED = "polyseme: the text is tokenised by --tokenize en, as the model's text was"
MINI = (
    *("--preset", "tiny", "--filters", "1:8,2:16", "--character-dim", "4", "--hidden-dim", "16", "--layers", "1"),
    *("--projection-dim", "8", "--batch-tokens", "256", "--min-count", "1", "--epochs", "1", "--precision", "float32"),
)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(RAW)
    return tmp_path / "text.txt"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model that records how its text was cut."""
    made = tiny_model()
    native.write(replace(made, config=made.bilm_config.model_copy(update={"tokenize": "en"})), tmp_path / "model")
    return tmp_path / "model"


def commands(model: Path, text: Path, *options: object) -> list[tuple[object, ...]]:
    out = model.parent / "out"
    return [
        ("embed", text, "-m", model, "-o", f"{out}.npz", "--overwrite", *options),
        ("index", text, "-m", model, "-o", f"{out}-index-{len(options)}", *options),
        ("evaluate", model, text, *options),
        ("score", model, text, *options),
        ("change", "bank", text, text, "-m", model, *options),
    ]


def test_every_command_says_how_it_cuts_text(run: Command, model: Path, text: Path) -> None:
    for command in commands(model, text):
        assert [line for line in run(*command).err.splitlines() if "tokenised by" in line] == [FOLLOWED], command[0]
    other = (*commands(model, text, "--tokenize", "char"), ("substitutes", model, "a [bank]", "--tokenize", "char"))
    for command in other:
        told = "polyseme: the text is tokenised by --tokenize char, but the model's text was tokenised by --tokenize en"
        assert run(*command).err.splitlines()[0] == told, command[0]
    assert run("substitutes", model, "It's a [bank].").err == ""


def test_a_query_in_a_language_that_the_model_has_not_read_is_told(run: Command, model: Path, text: Path) -> None:
    index = text.parent / "index"
    run("index", text, "-m", model, "-o", index)
    told = (
        "polyseme: '他在[河]边' looks like Chinese, but the model has read English: take a model of its language, such "
    )
    assert run("nearest", index, "他在[河]边").err.startswith(told)
    assert run("substitutes", model, "他在[河]边").err.startswith(told.replace("[河]", "河"))
    assert run("nearest", index, "It's a [bank].").err == ""


def test_tokens_are_those_of_the_model_s_text(run: Command, model: Path, text: Path, tmp_path: Path) -> None:
    def found(source: Path, *options: object) -> list[str]:
        place = tmp_path / "out.parquet"
        run("embed", source, "-m", model, "-o", place, "--layers", "top", "--overwrite", *options)
        tokens: list[str] = pyarrow.parquet.read_table(place)["token"].to_pylist()
        return tokens

    assert found(text) == TOKENS
    assert found(text, "--tokenize", "none") == RAW.split()
    (tmp_path / "a.conllu").write_text("1\tIt's" + "\t_" * 8)
    assert found(tmp_path / "a.conllu") == found(tmp_path / "a.conllu", "--tokenize", "en") == ["It's"]
    assert "cut by" not in run("score", model, tmp_path / "a.conllu").err


def test_text_that_looks_cut_already(run: Command, model: Path, text: Path) -> None:
    text.write_text(CUT)
    told = f"{FOLLOWED}; it looks tokenised, and --tokenize none would keep its tokens\n"
    assert run("score", model, text).err == told


def test_a_model_that_records_nothing_warns_of_raw_text_once(run: Command, text: Path, tmp_path: Path) -> None:
    native.write(tiny_model(), tmp_path / "published")
    for command in commands(tmp_path / "published", text):
        told = run(*command).err
        assert (
            told.count("the model does not record how its text was tokenised; it looks raw, and --tokenize en would")
            == 1
        )
    text.write_text(CUT)
    assert run("score", tmp_path / "published", text).err == ""


@pytest.mark.parametrize(
    ("content", "tokenize", "note"),
    [
        (RAW, "en", "the text looks like raw English and is tokenised by --tokenize en"),
        (
            "他在银行买了一本书。天黑了，我们走吧。\n",
            "zh",
            "the text looks like raw Chinese and is tokenised by --tokenize zh",
        ),
        (CUT, None, "the text is read as tokenised (one sentence per line, tokens between spaces), as it looks so"),
        (
            "Es ist spät, und er ging.\n",
            "unicode",
            "the text looks like raw text and is tokenised by --tokenize unicode",
        ),
    ],
)
def test_a_new_model_goes_by_the_look_of_its_text(
    run: Command, text: Path, tmp_path: Path, content: str, tokenize: str | None, note: str
) -> None:
    text.write_text(content * 40, encoding="utf-8")
    assert note in run("train", text, "-o", tmp_path / "model", *MINI).err
    assert json.loads((tmp_path / "model/config.json").read_text())["tokenize"] == tokenize


def test_further_training_follows_the_model(run: Command, text: Path, tmp_path: Path) -> None:
    text.write_text("他在银行买了一本书。天黑了，我们走吧。\n" * 40, encoding="utf-8")
    run("train", text, "-o", tmp_path / "first", "--tokenize", "char", *MINI)
    done = run("train", text, "-o", tmp_path / "second", "--from", tmp_path / "first", "--epochs", 1)
    assert "the text is tokenised by --tokenize char, as the model's text was" in done.err
    # Text in tokens leaves the model what it knows.
    done = run(
        "train", text, "-o", tmp_path / "third", "--from", tmp_path / "first", "--epochs", 1, "--tokenize", "none"
    )
    assert "but the model's text was tokenised by --tokenize char" in done.err
    for name in ("second", "third"):
        assert json.loads(run("info", tmp_path / name, "--json").out)["tokenize"] == "char"

"""A word that is asked for and never a token: how it is cut is shown, and what to do."""

import doctest
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command, refused
from tiny import tiny_model

from polyseme.formats import native
from polyseme.text import query_word
from polyseme.text.query_word import cut_apart
from polyseme.text.segmentation import Segmentation

APART = "'杨过' is cut into 杨 + 过; add it to a dictionary (polyseme words proposes one), given by --dictionary"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    made = tiny_model()
    native.write(replace(made, config=made.bilm_config.model_copy(update={"tokenize": "zh"})), tmp_path / "model")
    return tmp_path / "model"


def test_every_command_that_asks_for_a_word(run: Command, model: Path, tmp_path: Path) -> None:
    text, index = tmp_path / "novel.txt", tmp_path / "index"
    text.write_text("杨过大喜。小龙女看着杨过。\n" * 10, encoding="utf-8")
    assert run("index", text, "-m", model, "-o", index).code == 0
    refused(run("similar", "杨过", "--index", index), f"'杨过' is not in it; {APART} when the text is indexed\n")
    induced = run("senses", "induce", "杨过", "--index", index)
    refused(induced, f"no occurrence of '杨过'; {APART} when the text is indexed\n")
    refused(run("compare", "杨过", "杨过大喜。", "[杨过]来了。", "-m", model), f"{APART}, or put the word you mean in")
    refused(run("similar", "杨过", "-m", model), f"'杨过' is not among the 7 words; {APART} when a model is trained")
    refused(run("change", "杨过", text, text, "-m", model), f"none of the words is in both texts; {APART}")
    refused(run("change", "杨过", index, index), f"in both texts; {APART} when the texts are indexed\n")
    told = run("nearest", index, "[杨过]大喜。", "-k", 1)
    assert told.code == 0
    assert told.err == f"polyseme: {index}: {APART} when the text is indexed\n"
    same = run("nearest", index, "[杨过]大喜。", "--words", "same")
    assert same.err == f"{told.err}polyseme: {index}: no occurrence of '杨过'; leave out --words\n"
    refused(run("similar", "杨康好", "--index", index), "is not in it; '杨康好' is cut into")
    refused(run("similar", "猫", "--index", index), "'猫' is not in it; give another word")


def test_other_tokenisers() -> None:
    assert cut_apart("isn't", Segmentation("en")) == "\"isn't\" is cut into is + n't; ask for one of them"
    assert cut_apart("bank", Segmentation("en")) is None
    assert cut_apart("New York", Segmentation()) == "'New York' is cut into New + York; ask for one of them"


def test_the_examples_in_the_docstring() -> None:
    assert doctest.testmod(query_word) == (0, 2)

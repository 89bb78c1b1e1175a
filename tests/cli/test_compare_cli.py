"""compare as a person meets it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Command, refused
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.study.compare import compare_word

SENTENCES = ("the bank of the river", "Money in a Bank", "a [play] by the bank")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    native.write(tiny_model(), tmp_path / "model")
    return tmp_path / "model"


def test_it_is_what_a_loop_over_pairs_finds() -> None:
    embedder = Embedder(tiny_model())
    found = compare_word(embedder, "bank", SENTENCES)
    places = [1, 3, 1]
    vectors = [
        embedder.embed([sentence.replace("[", "").replace("]", "").split()])[0][:, place]
        for sentence, place in zip(SENTENCES, places, strict=True)
    ]
    for one in range(3):
        for two in range(3):
            for layer in range(3):
                a, b = vectors[one][layer], vectors[two][layer]
                expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
                assert found.layers[layer, one, two] == pytest.approx(expected, abs=1e-5)
            a, b = vectors[one].mean(axis=0), vectors[two].mean(axis=0)
            assert found.mean[one, two] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5)
    assert [position for _, position in found.sentences] == places
    pairs = {(pair["layer"], pair["first"], pair["second"]): pair["similarity"] for pair in found.pairs()}
    assert len(pairs) == 4 * 3
    assert pairs["mean", 1, 3] == pytest.approx(float(found.mean[0, 2]))
    assert found.to_dict()["mean"] == found.mean.tolist()
    with pytest.raises(InputError, match="expected a list of at least two sentences"):
        compare_word(embedder, "bank", "the bank")


def test_printed(run: Command, model: Path) -> None:
    result = run("compare", "bank", *SENTENCES, "-m", model)
    sentences, *tables = result.out.split("\n\n")
    assert sentences.splitlines()[1:] == ["2  Money in a [Bank]", "3  a [play] by the bank"]
    assert [table.splitlines()[0].split()[:2] for table in tables] == [
        ["layer", "0"],
        ["layer", "1"],
        ["layer", "2"],
        ["mean", "of"],
    ]
    assert [line.split()[number] for number, line in enumerate(tables[3].splitlines()) if number] == ["1.000"] * 3
    assert result.err == ""


def test_for_programs(run: Command, model: Path) -> None:
    found = json.loads(run("compare", "bank", *SENTENCES, "-m", model, "--json").out)
    assert (found["command"], found["word"], found["model"]) == ("compare", "bank", str(model))
    assert found["sentences"][2] == {"sentence": ["a", "play", "by", "the", "bank"], "position": 1}
    rows = list(csv.DictReader(io.StringIO(run("compare", "bank", *SENTENCES, "-m", model, "--csv").out)))
    assert [float(row["similarity"]) for row in rows] == [one["similarity"] for one in found["results"]]
    assert (rows[-1]["layer"], rows[-1]["first"], rows[-1]["second"]) == ("mean", "2", "3")


def test_plot(run: Command, model: Path, tmp_path: Path) -> None:
    assert run("compare", "bank", *SENTENCES, "-m", model, "--plot", tmp_path / "a.svg").code == 0
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    for text in ("bank in 3 sentences", "1  the [bank] of the river", "layer 2", "mean of layers", "1.00"):
        assert text in drawn
    refused(run("compare", "bank", *SENTENCES, "-m", model, "--plot", tmp_path / "a.txt"), "a.txt")


def test_the_model_of_the_language(run: Command) -> None:
    chinese = run("compare", "苹果", "我吃了一个苹果。", "[苹果]公司发布了新产品。", "--json")
    assert chinese.err == "polyseme: Chinese sentences, compared by chinese-small; -m chooses another model\n"
    assert json.loads(chinese.out)["sentences"][1]["sentence"][:2] == ["苹果", "公司"]
    refused(run("compare", "банк", "мой банк", "наш банк"), "neither English nor Chinese")


def test_brackets_of_a_chinese_keyboard() -> None:
    found = compare_word(Embedder(tiny_model()), "bank", ["【 news 】 the bank", "a 【bank】 by the bank"])
    assert [position for _, position in found.sentences] == [4, 1]


def test_a_long_sentence_is_drawn_with_an_ellipsis(run: Command, model: Path, tmp_path: Path) -> None:
    long = "мы и вы и он и я [bank] и она и они и оно"
    assert run("compare", "bank", long, "a bank", "-m", model, "--plot", tmp_path / "a.svg").code == 0
    assert "1  … и он и я [bank] и она и они …" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_refusals(run: Command, model: Path) -> None:
    refused(
        run("compare", "bank", "I", "sat", "on", "the", "bank.", "-m", model),
        '5 sentences of one word each; put each sentence in quotes: "I sat on the bank."',
    )
    refused(run("compare", "bank", "a bank", "-m", model), "1 sentence with 'bank' cannot be compared with another")
    refused(
        run("compare", "bank", "a bank", "bank to bank", "-m", model),
        "'bank to bank': 'bank' stands in it 2 times; put the one you mean in brackets: [bank]",
    )
    refused(
        run("compare", "bank", "a bank", "two banks", "-m", model),
        "'two banks': 'bank' is not one of its tokens (two banks); check the spelling, or put the word you mean in",
    )

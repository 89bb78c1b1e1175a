"""The commands about senses and change, as a person meets them."""

import json
from pathlib import Path

import pytest
from conftest import GOLDEN, Command, refused
from tiny import tiny_model

from polyseme.formats import native

TWO = GOLDEN / "allennlp" / "two_layers"
OLD = "the river bank of the water\na play of cards\nThe bank by the river\n" * 6
NEW = "the bank lent money\na long play\nmoney of the bank\n" * 6


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "old.txt", tmp_path / "new.txt"
    for path, text in zip(paths, (OLD, NEW), strict=True):
        path.write_text(text)
    return paths


@pytest.fixture
def model(tmp_path: Path) -> Path:
    native.write(tiny_model(), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def index(run: Command, texts: tuple[Path, Path], model: Path, tmp_path: Path) -> Path:
    assert run("index", texts[0], "-m", model, "-o", tmp_path / "index").code == 0
    return tmp_path / "index"


class TestInduce:
    def test_printed(self, run: Command, index: Path) -> None:
        result = run("senses", "induce", "bank", "--index", index, "--senses", 2, "-k", 1)
        assert result.code == 0
        lines = result.out.splitlines()
        assert lines[0].startswith("bank: 2 senses in 12 occurrences, silhouette ")
        assert lines[2].startswith("1. 50% (6): ")
        assert {line.split("  ", 1)[1].strip()[7:] for line in (lines[3], lines[6])} == {
            "the river [bank] of the water",
            "The [bank] by the river",
        }

    def test_json(self, run: Command, index: Path) -> None:
        found = json.loads(run("senses", "induce", "bank", "--index", index, "--senses", 2, "--json").out)
        assert (found["word"], found["occurrences"], found["labels"]) == ("bank", 12, "substitutes")
        assert [sense["share"] for sense in found["results"]] == [0.5, 0.5]
        example = found["results"][0]["examples"][0]
        assert example["sentence"][example["position"]] == example["word"] == "bank"
        lines = run("senses", "induce", "bank", "--index", index, "--senses", 2, "--csv").out.splitlines()
        assert lines[0] == "sense,share,occurrences,labels"
        assert [line.split(",")[:3] for line in lines[1:]] == [["1", "0.5", "6"], ["2", "0.5", "6"]]

    def test_plot(self, run: Command, index: Path, tmp_path: Path) -> None:
        assert (
            run("senses", "induce", "bank", "--index", index, "--senses", 2, "--plot", tmp_path / "map.svg").code == 0
        )
        drawn = (tmp_path / "map.svg").read_text()
        assert "12 occurrences of bank" in drawn
        assert "[bank] of the water" in drawn
        refused(run("senses", "induce", "bank", "--index", index, "--plot", tmp_path / "map.txt"), "map.txt")

    def test_a_model_without_a_softmax_says_so(self, run: Command, texts: tuple[Path, Path], tmp_path: Path) -> None:
        run("index", texts[0], "-m", TWO, "-o", tmp_path / "plain")
        result = run("senses", "induce", "bank", "--index", tmp_path / "plain", "--senses", 1)
        assert result.code == 0
        assert "the model has no softmax; senses are labelled by the nearest words of the text" in result.err
        assert result.out.startswith("bank: 1 sense in 12 occurrences\n")

    def test_refusals(self, run: Command, index: Path, tmp_path: Path) -> None:
        refused(run("senses", "induce", "zebra", "--index", index), "no occurrence of 'zebra'")
        refused(run("senses", "induce", "cards", "--index", index), "'cards' occurs only 6 times in it, at least 10")
        refused(run("senses", "induce", "bank", "--index", tmp_path), "no index is here")
        refused(run("senses", "induce", "bank"), "Missing option '--index'")


class TestEvaluate:
    @pytest.fixture
    def tagged(self, tmp_path: Path) -> Path:
        path = tmp_path / "tagged.jsonl"
        lines = [("the river bank", "b1"), ("the money bank", "b2"), ("a river bank", "b1")]
        path.write_text(
            "".join(
                json.dumps({"tokens": text.split(), "senses": [[2, 1, "bank", "N", [key]]]}) + "\n"
                for text, key in lines
            )
        )
        return path

    def test_printed(self, run: Command, tagged: Path) -> None:
        result = run("senses", "evaluate", "--train", tagged, "--test", tagged, "-m", TWO)
        assert result.code == 0
        head, *lines = [line.rsplit(maxsplit=1) for line in result.out.splitlines()]
        assert head == ["by", "accuracy"]
        assert [name for name, _ in lines] == ["layer 0", "layer 1", "layer 2", "mean of layers", "most frequent sense"]
        assert lines[-1][1] == "66.67%"
        assert "3 words, 0 without a sense left out; 0.0% not in the training text" in result.err

    def test_json(self, run: Command, tagged: Path) -> None:
        found = json.loads(run("senses", "evaluate", "--train", tagged, "--test", tagged, "-m", TWO, "--json").out)
        accuracy = {one["by"]: one["accuracy"] for one in found["results"]}
        assert list(accuracy) == ["layer 0", "layer 1", "layer 2", "mean of layers", "most frequent sense"]
        assert accuracy["layer 2"] == 1
        assert (found["instances"], found["trained"], found["backed_off"]) == (3, 3, 0)

    def test_refusals(self, run: Command, tagged: Path, tmp_path: Path) -> None:
        damaged = tmp_path / "damaged.jsonl"
        damaged.write_text(tagged.read_text() + '{"tokens": ["a"]\n')
        refused(run("senses", "evaluate", "--train", damaged, "--test", tagged, "-m", TWO), "damaged.jsonl:4: not JSON")
        refused(
            run("senses", "evaluate", "--train", tagged, "--test", tmp_path / "no", "-m", TWO),
            "no: cannot be opened: No such file or directory",
        )
        refused(
            run("senses", "evaluate", "--train", tagged, "--test", tagged, "-m", TWO, "--sense-index", tagged),
            "tagged.jsonl:1: ",
        )


class TestChange:
    def test_texts(self, run: Command, texts: tuple[Path, Path]) -> None:
        result = run("change", "bank", "Play", "cards", *texts, "-m", TWO)
        assert result.code == 0
        header, *rows = (line.split() for line in result.out.splitlines())
        assert header == ["word", "APD", "PRT", "old", "new"]
        assert {row[0]: row[3:] for row in rows} == {"bank": ["12", "12"], "play": ["6", "6"]}
        assert float(rows[0][1]) >= float(rows[1][1]) > 0
        assert result.err == "polyseme: not in both texts: cards\n"

    def test_all_words_as_json(self, run: Command, texts: tuple[Path, Path]) -> None:
        found = json.loads(run("change", *texts, "-m", TWO, "--least", 6, "--json").out)["results"]
        assert {one["word"] for one in found} == {"the", "bank", "of", "a", "play"}
        assert list(found[0]) == ["word", "apd", "prt", "old", "new"]
        first = json.loads(run("change", *texts, "-m", TWO, "--least", 6, "-k", 1, "--json").out)
        assert (first["command"], first["words"], first["results"]) == ("change", 5, found[:1])

    def test_plot(self, run: Command, texts: tuple[Path, Path], tmp_path: Path) -> None:
        assert run("change", "bank", "play", *texts, "-m", TWO, "--plot", tmp_path / "change.svg").code == 0
        drawn = (tmp_path / "change.svg").read_text()
        for text in ("Change from old.txt to new.txt", "bank", "play", "APD"):
            assert text in drawn
        refused(run("change", "bank", *texts, "-m", TWO, "--plot", tmp_path / "change.txt"), "change.txt")

    def test_indexes(self, run: Command, texts: tuple[Path, Path], index: Path, model: Path, tmp_path: Path) -> None:
        run("index", texts[1], "-m", model, "-o", tmp_path / "index2")
        by_index = json.loads(run("change", "bank", index, tmp_path / "index2", "--json").out)["results"]
        by_text = json.loads(run("change", "bank", *texts, "-m", model, "--json").out)["results"]
        assert by_index[0]["apd"] == pytest.approx(by_text[0]["apd"], abs=1e-3)
        assert by_index[0]["old"] == by_text[0]["old"] == 12
        refused(run("change", "bank", index, texts[1], "-m", model), "one is an index and the other is not")

    def test_options_of_texts_with_indexes(self, run: Command, index: Path) -> None:
        for option, value in (("-m", "english-small"), ("--tokenize", "en")):
            refused(run("change", "play", index, index, option, value), "is for texts, and")

    def test_refusals(self, run: Command, texts: tuple[Path, Path]) -> None:
        refused(run("change", "bank"), "give two texts or two indexes after the words: polyseme change WORD... OLD NEW")
        refused(run("change", "bank", *texts), "texts need a model to embed them with; give one with -m")
        refused(run("change", "zebra", *texts, "-m", TWO), "none of the words is in both texts")
        refused(run("change", "bank", texts[0], "no.txt", "-m", TWO), "no.txt: no such file or folder")

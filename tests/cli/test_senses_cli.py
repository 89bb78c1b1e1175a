"""The commands about senses and change, as a person meets them."""

import csv
import io
import json
from pathlib import Path

import pytest
from conftest import GOLDEN, Command, refused
from tiny import tiny_model

from polyseme.formats import native

TWO = GOLDEN / "allennlp" / "two_layers"
OLD = "the river bank of the water\na play of cards\nThe bank by the river\n" * 6
LAYERS = ["layer 0", "layer 1", "layer 2", "mean of layers"]
SPREAD = ["+0.00%", "+100.00%"]  # of a difference on three words
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

    def test_whitened(self, run: Command, index: Path) -> None:
        options = ["senses", "induce", "bank", "--index", index, "--senses", 2, "--json"]
        plain, whitened = (json.loads(run(*options, *more).out) for more in ([], ["--whiten"]))
        assert (plain["whitened"], whitened["whitened"]) == (False, True)
        assert (index / "whitening.npy").exists()
        query = ["nearest", index, "the [bank]", "-k", 100, "--json"]
        plain, whitened = (json.loads(run(*query, *more).out) for more in ([], ["--whiten"]))
        assert (plain["whitened"], whitened["whitened"]) == (False, True)
        assert len(plain["results"]) == len(whitened["results"]) == 90
        assert min(one["similarity"] for one in plain["results"]) > 0 > whitened["results"][-1]["similarity"]

    def test_every_sentence_with_its_sense(self, run: Command, index: Path, texts: tuple[Path, Path]) -> None:
        given = ("senses", "induce", "bank", "--index", index, "--senses", 2, "--sentences")
        rows = list(csv.DictReader(io.StringIO(run(*given, "--csv").out)))
        assert len(rows) == 12
        assert list(rows[0])[:4] == ["sense", "similarity", "word", "sentence"]
        assert {row["file"] for row in rows} == {str(texts[0])}
        by_sentence = {row["sentence"]: row["sense"] for row in rows}
        assert sorted(by_sentence.values()) == ["1", "2"]
        assert [row["sense"] for row in rows] == sorted(row["sense"] for row in rows)
        found = json.loads(run(*given, "--json").out)
        first = found["results"][0]
        assert (first["sense"], first["line"]) == (int(rows[0]["sense"]), int(rows[0]["line"]))
        refused(run(*given), "--sentences gives a long table; give --csv or --json with it")

    def test_control_words(self, run: Command, index: Path) -> None:
        result = run("senses", "induce", "bank", "--index", index, "--controls", 2)
        table = [line.split() for line in result.out.split("\n\n")[-1].splitlines()]
        assert table[0] == ["control", "word", "occurrences", "senses", "silhouette", "by", "chance"]
        assert [row[:2] for row in table[1:]] == [["of", "12"], ["river", "12"]]
        found = json.loads(run("senses", "induce", "bank", "--index", index, "--controls", 2, "--json").out)
        assert [one["word"] for one in found["controls"]] == ["of", "river"]
        assert all(one["senses"] >= 1 for one in found["controls"])

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
        result = run("senses", "evaluate", "--train", tagged, "--test", tagged, "-m", TWO, "--no-whiten")
        assert result.code == 0
        head, *lines = result.out.splitlines()
        assert head.split() == ["by", "method", "accuracy", "low", "high", "difference", "low", "high"]
        assert [line[:38].split("  ")[0] for line in lines] == [
            *(name for name in LAYERS for _ in range(2)),
            "most frequent sense",
        ]
        assert lines[4].split() == ["layer", "2", "centroid", "100.00%", "100.00%", "100.00%", "+33.33%", *SPREAD]
        assert lines[-1].split()[3] == "66.67%"
        assert "3 words, 0 without a sense left out; 0.0% not in the training text" in result.err

    def test_json(self, run: Command, tagged: Path) -> None:
        found = json.loads(run("senses", "evaluate", "--train", tagged, "--test", tagged, "-m", TWO, "--json").out)
        scores = {(one["by"], one["method"]): one for one in found["results"]}
        whitened = [f"layer {layer}, whitened" for layer in range(3)] + ["layers 1 and 2, whitened"]
        assert list(scores) == [
            *((by, method) for by in [*LAYERS, *whitened] for method in ("centroid", "neighbours")),
            ("most frequent sense", None),
        ]
        figures = ["accuracy", "low", "high", "difference", "difference_low", "difference_high"]
        assert list(found["results"][0]) == ["by", "method", "whitened", *figures, "held_out", "chosen"]
        assert scores["layer 2", "centroid"]["accuracy"] == 1
        assert scores["layer 2", "centroid"]["difference"] == pytest.approx(1 / 3)
        assert scores["layer 2, whitened", "centroid"]["whitened"] is True
        assert [one["held_out"] for one in found["results"]] == [None] * len(scores)
        assert (found["instances"], found["trained"], found["backed_off"], found["neighbours"]) == (3, 3, 0, 5)

    def test_a_chosen_layer(self, run: Command, tagged: Path, tmp_path: Path) -> None:
        more = tmp_path / "more.jsonl"
        more.write_text(tagged.read_text() * 7)
        options = ["--train", more, "--test", tagged, "-m", TWO, "--choose-layer", "-k", 1]
        result = run("senses", "evaluate", *options)
        assert result.out.splitlines()[0].endswith("  held out")
        assert sum(line.endswith("  chosen") for line in result.out.splitlines()) == 4
        header, *rows = run("senses", "evaluate", *options, "--csv").out.splitlines()
        assert header.endswith(",held_out,chosen")
        assert sum(row.endswith(",true") for row in rows) == 4
        refused(
            run("senses", "evaluate", "--train", tagged, "--test", tagged, "-m", TWO, "-k", 0),
            "should be at least 1",
        )

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
        header, *rows = (line.split() for line in result.out.split("\n\n")[0].splitlines())
        assert header == ["word", "APD", "noise", "95%", "PRT", "noise", "95%", "old", "new"]
        assert {row[0]: row[7:] for row in rows} == {"bank": ["12", "12"], "play": ["6", "6"]}
        assert float(rows[0][1]) >= float(rows[1][1]) > 0
        assert result.err == f"polyseme: not in {texts[1]}: cards\n"

    def test_all_words_as_json(self, run: Command, texts: tuple[Path, Path]) -> None:
        found = json.loads(run("change", *texts, "-m", TWO, "--least", 6, "--json").out)["results"]
        assert {one["word"] for one in found} == {"the", "bank", "of", "a", "play"}
        assert list(found[0])[:5] == ["word", "apd", "prt", "old", "new"]
        first = json.loads(run("change", *texts, "-m", TWO, "--least", 6, "-k", 1, "--json").out)
        assert (first["command"], first["words"], first["results"]) == ("change", 5, found[:1])

    def test_what_is_new_and_what_is_gone(self, run: Command, texts: tuple[Path, Path]) -> None:
        result = run("change", "bank", *texts, "-m", TWO, "--examples", 1, "--controls", 2)
        table, examples = result.out.split("\n\n")
        assert table.splitlines()[0].split()[1:5] == ["APD", "noise", "95%", "controls"]
        word, new, gone = examples.splitlines()
        assert word == "bank"
        assert new.split()[0] == "new"
        assert new.split("  ")[-1] in ("the [bank] lent money", "money of the [bank]")
        assert gone.split("  ")[-1] in ("the river [bank] of the water", "The [bank] by the river")
        (row,) = json.loads(run("change", "bank", *texts, "-m", TWO, "--controls", 2, "--json").out)["results"]
        assert row["controls"] == ["of", "the"]  # half or twice as often as bank, in one of the texts
        assert 0 < row["noise_apd"] <= row["noise_apd_95"] < row["apd"]
        assert row["new_examples"][0]["file"] == str(texts[1])
        plain = run("change", "bank", *texts, "-m", TWO, "--shuffles", 0, "--examples", 0).out
        assert plain.splitlines()[0].split() == ["word", "APD", "PRT", "old", "new"]
        assert len(plain.splitlines()) == 2

    def test_plot(self, run: Command, texts: tuple[Path, Path], tmp_path: Path) -> None:
        assert run("change", "bank", "play", *texts, "-m", TWO, "--plot", tmp_path / "change.svg").code == 0
        drawn = (tmp_path / "change.svg").read_text()
        for text in ("Change from old.txt to new.txt", "bank", "play", "APD"):
            assert text in drawn
        assert "noise (95% of shuffles are below)" in drawn
        refused(run("change", "bank", *texts, "-m", TWO, "--plot", tmp_path / "change.txt"), "change.txt")

    def test_the_words_that_are_printed_are_drawn(self, run: Command, texts: tuple[Path, Path], tmp_path: Path) -> None:
        given = ("change", *texts, "-m", TWO, "--least", 6, "-k", 2)
        rows = run(*given, "--plot", tmp_path / "change.svg").out.splitlines()[1:]
        drawn = (tmp_path / "change.svg").read_text()
        words = [word for word in ("the", "bank", "of", "a", "play") if f">{word}</text>" in drawn]
        assert sorted(words) == sorted(row.split()[0] for row in rows)

    def test_words_within_their_noise(self, run: Command, texts: tuple[Path, Path]) -> None:
        same = ("change", texts[0], texts[0], "-m", TWO, "--least", 6)
        assert {line[-14:] for line in run(*same).out.splitlines()[1:]} == {"  within noise"}
        given = ("change", *texts, "-m", TWO, "--least", 6)
        found = json.loads(run(*given, "--json").out)["results"]
        excesses = [one["apd"] - one["noise_apd_95"] for one in found]
        assert excesses == sorted(excesses, reverse=True)
        marked = [line.endswith("  within noise") for line in run(*given).out.splitlines()[1:]]
        assert marked == [excess <= 0 for excess in excesses]
        for measure in ("apd", "prt"):
            ranked = [one[measure] for one in json.loads(run(*given, "--sort", measure, "--json").out)["results"]]
            assert ranked == sorted(ranked, reverse=True)
        refused(run(*given, "--sort", "excess", "--shuffles", 0), "--sort excess needs the noise, which --shuffles 0")
        told = run(*given, "--examples", 1, "--csv")
        assert told.err == "polyseme: --csv has no place for examples; --json has them\n"

    def test_indexes(self, run: Command, texts: tuple[Path, Path], index: Path, model: Path, tmp_path: Path) -> None:
        run("index", texts[1], "-m", model, "-o", tmp_path / "index2")
        found = json.loads(run("change", "bank", index, tmp_path / "index2", "--json").out)
        by_index = found["results"]
        assert found["model"] == str(model)
        by_text = json.loads(run("change", "bank", *texts, "-m", model, "--json").out)["results"]
        assert by_index[0]["apd"] == pytest.approx(by_text[0]["apd"], abs=1e-3)
        assert by_index[0]["old"] == by_text[0]["old"] == 12
        refused(run("change", "bank", index, texts[1], "-m", model), "one is an index and the other is not")

    def test_options_of_texts_with_indexes(self, run: Command, index: Path) -> None:
        for option, value in (("-m", "english-small"), ("--tokenize", "en"), ("--layers", "1")):
            refused(run("change", "play", index, index, option, value), "is for texts, and")

    def test_refusals(self, run: Command, texts: tuple[Path, Path]) -> None:
        refused(run("change", "bank"), "give two texts or two indexes after the words: polyseme change WORD... OLD NEW")
        refused(run("change", "bank", *texts), "texts need a model to embed them with; give one with -m")
        refused(run("change", "zebra", *texts, "-m", TWO), "none of the words is in both texts")
        refused(run("change", "bank", texts[0], "no.txt", "-m", TWO), "no.txt: no such file or folder")

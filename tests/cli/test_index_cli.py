"""index, nearest and similar as a person meets them."""

import csv
import io
import json
import signal
from itertools import islice
from pathlib import Path

import pytest
from conftest import GOLDEN, Command, refused
from rich.cells import cell_len
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.formats import bilm_hdf5, native

TEXT = "The bank of the river was steep.\n\nShe works at a bank. They play cards.\n\nA play in three acts.\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    native.write(tiny_model(), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path / "text.txt"


def test_from_text_to_the_nearest_contexts(run: Command, model: Path, text: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    built = run("index", text, "--tokenize", "en", "-m", model, "-o", index, "--json")
    facts = json.loads(built.out)
    assert (facts["command"], facts["output"], facts["occurrences"]) == ("index", str(index), 24)
    # The model is found again, and the query is cut as the text was: the full stop is a token.
    lines = run("nearest", index, "She works at a [bank].", "-k", 3).out.splitlines()
    assert lines[0] == "1.000  She works at a [bank] ."
    assert len(lines) == 3
    same = json.loads(run("nearest", index, "A [play]", "--words", "same", "--json").out)
    assert [one["word"] for one in same["results"]] == ["play", "play"]
    assert (same["command"], same["sentence"], same["position"]) == ("nearest", ["A", "play"], 1)
    rows = list(csv.DictReader(io.StringIO(run("nearest", index, "A [play]", "--words", "same", "--csv").out)))
    assert [row["sentence"] for row in rows] == [" ".join(one["sentence"]) for one in same["results"]]
    assert [float(row["similarity"]) for row in rows] == [one["similarity"] for one in same["results"]]
    grouped = run("nearest", index, "A [play]", "-k", 50, "--group", "--words", "other", "--json").out
    words = [one["word"] for one in json.loads(grouped)["results"]]
    assert len(words) == len(set(words))
    assert "play" not in words
    again = run("index", text, "--tokenize", "en", "-m", model, "-o", index, "--append")
    assert "48 occurrences of " in again.err


def test_keyword_in_context(run: Command, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(
        "The bank of the river was steep.\n\nShe works at a bank. 我们 走 到 bank 的 旁边。\n", encoding="utf-8"
    )
    index = tmp_path / "index"
    run("index", text, "--tokenize", "en", "-m", model, "-o", index)
    given = ("nearest", index, "She works at a [bank].", "--words", "same", "--kwic", 2)
    lines = run(*given).out.splitlines()
    assert lines[0].split() == ["1.000", "at", "a", "bank", ".", f"{text}:3"]
    assert len({cell_len(line[: line.index("bank")]) for line in lines}) == 1
    assert len({cell_len(line[: line.index(str(text))]) for line in lines}) == 1
    assert {line.rpartition(":")[2] for line in lines} == {"1", "3"}
    (chinese,) = (line for line in lines if "走" in line)
    assert chinese.split()[1:-1] == ["走", "到", "bank", "的", "旁边"]
    rows = list(csv.DictReader(io.StringIO(run(*given, "--csv").out)))
    assert (rows[0]["left"], rows[0]["word"], rows[0]["right"]) == ("at a", "bank", ".")
    assert (rows[0]["file"], rows[0]["line"], rows[0]["document"]) == (str(text), "3", "")
    assert rows[0]["sentence"].split()[int(rows[0]["position"])] == "bank"
    first = json.loads(run(*given, "--json").out)["results"][0]
    assert (first["left"], first["line"], first["sentence"]) == ("at a", 3, ["She", "works", "at", "a", "bank", "."])
    nothing = run(*given[:-1], 0).out.splitlines()[0]
    assert nothing.split() == ["1.000", "bank", f"{text}:3"]


def test_documents_of_hits(run: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.vrt").write_text('<text id="A01">\n<s id="A01.7">\na\tDT\nplay\tNN\n</s>\n</text>\n')
    run("index", tmp_path / "a.vrt", "-m", model, "-o", tmp_path / "index")
    assert run("nearest", tmp_path / "index", "a [play]", "-k", 1, "--kwic", 3).out.endswith(
        f"a  play    {tmp_path / 'a.vrt'}:3 A01 A01.7\n"
    )


def test_an_index_that_does_not_know_places(run: Command, model: Path) -> None:
    old = GOLDEN / "index_v1" / "index"
    found = run("nearest", old, "A [bank]", "-m", model, "-k", 1, "--kwic", 3)
    assert found.code == 0
    assert "does not record where its sentences came from; build it again from files to see that" in found.err


def test_a_model_in_two_places_is_found_again(
    run: Command, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, options = tmp_path / "weights", tmp_path / "options"
    bilm_hdf5.write(tiny_model(), weights)
    options.mkdir()
    (weights / "options.json").rename(options / "options.json")
    text.write_text(TEXT * 5, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    given = ("-m", "weights/weights.hdf5", "--options", "options/options.json")
    assert run("index", text, "--tokenize", "en", *given, "-o", "index", "--precision", "bfloat16").code == 0
    monkeypatch.chdir(options)
    assert run("nearest", tmp_path / "index", "A [play]", "-k", 1).code == 0
    weights.rename(tmp_path / "moved")
    query = ("nearest", tmp_path / "index", "She works at a [bank].", "-k", 1)
    refused(run(*query), "no such file")
    moved = ("-m", tmp_path / "moved/weights.hdf5", "--options", options / "options.json")
    assert run(*query, *moved).out == "1.000  She works at a [bank] .\n"  # in the precision of the index
    induced = run("senses", "induce", "bank", "--index", tmp_path / "index", *moved)
    assert "in 10 occurrences" in induced.out, induced.err


def test_what_was_not_text_is_told(run: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"The b\xffnk of the river .\n" * 2)
    told = "2 invalid UTF-8 sequences replaced by U+FFFD, the first at "
    assert told in run("index", tmp_path / "text.txt", "-m", model, "-o", tmp_path / "index").err
    assert told in run("score", model, tmp_path / "text.txt").err


def test_names_that_are_not_utf_8(run: Command, model: Path, tmp_path: Path) -> None:
    text, moved = tmp_path / "caf\udce9.txt", tmp_path / "m\udce9"
    text.write_text("a play\n")
    model.rename(moved)
    assert run("index", text, "-m", moved, "-o", tmp_path / "index").code == 0
    assert "[play]" in run("nearest", tmp_path / "index", "a [play]").out


def test_a_folder_of_ones_own_comes_before_the_box(
    run: Command, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model.rename("english-small")
    run("index", text, "-m", "english-small", "-o", "index")
    monkeypatch.chdir("/")
    assert run("nearest", tmp_path / "index", "a [play]", "-k", 1).code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_says_what_is_kept(
    run: Command, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    stream = Embedder.stream

    def stopped(self: Embedder, sentences: object, *, layers: object):  # type: ignore[no-untyped-def]
        yield from islice(stream(self, sentences, layers=layers), sentences_done)  # type: ignore[arg-type]
        signal.raise_signal(number)

    given = ("index", text, "--tokenize", "en", "-m", model, "-o", tmp_path / "index")
    with monkeypatch.context() as patch:
        patch.setattr(Embedder, "stream", stopped)
        sentences_done = 0
        done = run(*given)
        assert (done.code, done.err) == (128 + number, "polyseme: interrupted; nothing was stored yet\n")
        assert not (tmp_path / "index.partial").exists()
        sentences_done = 2
        done = run(*given)
    partial = tmp_path / "index.partial"
    assert done.code == 128 + number
    assert done.err == f"polyseme: interrupted; what was done is stored in {partial}: continue with --resume\n"
    assert "24 occurrences of " in run(*given, "--resume").err
    assert not partial.exists()
    again = run(*given, "--resume")
    assert again.code == 0
    assert "index: this index was built already, and nothing was left to do\n" in again.err


def test_no_other_word(run: Command, model: Path, text: Path, tmp_path: Path) -> None:
    run("index", text, "--tokenize", "en", "-m", model, "-o", tmp_path / "index", "--word", "bank")
    found = run("nearest", tmp_path / "index", "a [bank]", "--words", "other")
    refused(found, "no occurrence of another word than 'bank'; leave out --words, or index more text")


def test_words_side_by_side(run: Command, model: Path, text: Path, tmp_path: Path) -> None:
    run("index", text, "--tokenize", "en", "-m", model, "-o", tmp_path / "index")
    (tmp_path / "vectors.txt").write_text("play 1 0.5\nbank 1 0.4\nriver -1 0.25\n", encoding="utf-8")
    given = ("--index", tmp_path / "index", "--least", 1, "--vectors", tmp_path / "vectors.txt", "-k", 2)
    found = json.loads(run("similar", "play", *given, "--json").out)["results"]
    assert [one["word"] for one in found if one["source"] == "static"] == ["bank", "river"]
    assert [one["occurrences"] > 0 for one in found if one["source"] == "contexts"] == [True, True]
    lines = run("similar", "play", *given).out.splitlines()
    assert lines[0].split() == ["contexts", "static"]
    assert lines[1].split()[2] == "bank"
    absent = run("similar", "river", *given[:4], "--vectors", tmp_path / "vectors.txt")
    assert (absent.code, absent.err) == (0, "")
    (tmp_path / "vectors.txt").write_text("play 1 0.5\nbank 1 0.4\n", encoding="utf-8")
    absent = run("similar", "river", *given)
    assert absent.out.splitlines()[0] == "contexts"
    assert absent.err.startswith(f"polyseme: {tmp_path / 'vectors.txt'}: 'river' is not ")
    refused(run("similar", "zebra", *given), "index: 'zebra' is not in it; give another word; ")
    output = json.loads(run("similar", "river", "-m", model, "--json").out)["results"]
    assert {one["source"] for one in output} == {"output"}
    assert "river" not in {one["word"] for one in output}


def test_refusals(run: Command, model: Path, text: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    refused(run("nearest", index, "a [play]"), "no index is here")
    run("index", text, "-m", model, "-o", index)
    refused(run("index", text, "-m", model, "-o", index), "index: exists already")
    refused(run("nearest", index, "a play"), "needs one word in brackets")
    refused(run("nearest", index, "a [play]", "--options", text), "belongs to a model; name that with --model")
    refused(run("index", tmp_path, "-m", model, "-o", tmp_path / "inside"), "where it would be read as text")
    refused(run("nearest", index, "a [zebra]", "--words", "same"), "no occurrence of 'zebra'")
    refused(run("similar", "play"), "nothing to look in; give --index, --model or --vectors")
    refused(run("similar", "zebra", "--index", index), "'zebra' is not in it")
    native.write(tiny_model(seed=1), tmp_path / "other")
    refused(run("nearest", index, "a [play]", "-m", tmp_path / "other"), "vectors of two models cannot be compared")


def test_a_part_of_an_index(run: Command, model: Path, text: Path, tmp_path: Path) -> None:
    index, more = tmp_path / "index", tmp_path / "more.txt"
    more.write_text("The bank lent money.\n", encoding="utf-8")
    run("index", text, "--tokenize", "en", "-m", model, "-o", index, "--label", "old")
    run("index", more, "--tokenize", "en", "-m", model, "-o", index, "--label", "new", "--append")
    asked = ("nearest", index, "She works at a [bank].", "--words", "same", "--json")
    assert [one["label"] for one in json.loads(run(*asked, "--label", "new").out)["results"]] == ["new"]
    found = json.loads(run(*asked, "--document", text).out)["results"]
    assert [(one["file"], one["label"]) for one in found] == [(str(text), "old")] * 2
    only = json.loads(run("nearest", index, "A [bank]", "--only", "Play", "--only", "money", "--json").out)
    assert sorted(one["word"] for one in only["results"]) == ["money", "play", "play"]
    refused(run(*asked, "--label", "New"), "index: no label is 'New'; it has 'old', 'new'; give one of them")
    refused(run(*asked, "--document", "no"), f"index: no document is 'no'; it has '{text}', '{more}'; give one of")
    lost = run("nearest", index, "A [play]", "--words", "same", "--label", "new")
    refused(lost, "index: no occurrence of 'play'; leave out --words or --label, or index more text")
    for number in range(9):
        run("index", more, "--tokenize", "en", "-m", model, "-o", index, "--label", f"l{number}", "--append")
    refused(run(*asked, "--label", "New"), "it has 'old', 'new', 'l0', 'l1', 'l2', 'l3', 'l4', 'l5' and 3 more; give")
    refused(run(*asked, "--group"), "one occurrence of each word, of the same word only, is one; leave out one of the")

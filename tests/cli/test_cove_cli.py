"""``polyseme cove train`` and ``polyseme cove translate`` as a person runs them."""

import io
import json
import sys
from pathlib import Path

import pytest
from conftest import Command
from tiny_translator import pairs, tiny_translator, write_table, write_vectors

from polyseme.formats import translator_folder

SIZES = ("--encoder-dim", 8, "--encoder-layers", 1, "--decoder-dim", 8, "--min-count", 1, "--precision", "float32")


def test_train(run: Command, tmp_path: Path) -> None:
    some = pairs(300)
    table, vectors = write_table(tmp_path / "pairs.tsv", some), write_vectors(tmp_path / "vectors.txt")
    given = ("--vectors", vectors, "--updates", 2, *SIZES)
    found = run("cove", "train", table, "-o", tmp_path / "one", *given)
    assert found.code == 0
    assert found.out.count("translation  ") == 10
    assert f"{tmp_path / 'one'}: trained, held-out perplexity" in found.err
    assert "training pairs" in found.err
    sides = []
    for name, number in (("en", 0), ("es", 1)):
        sides.append(tmp_path / f"text.{name}")
        sides[-1].write_text("".join(f"{pair[number]}\n" for pair in some))
    result = json.loads(run("cove", "train", *sides, "-o", tmp_path / "two", *given, "--json").out)
    assert result["updates"] == 2
    assert len(result["samples"]) == 10
    # The same pairs give the same model, whatever their layout.
    one, two = (translator_folder.read(tmp_path / name).network.softmax.weight for name in ("one", "two"))
    assert one.equal(two)


def test_train_messages(run: Command, tmp_path: Path) -> None:
    table, vectors = write_table(tmp_path / "pairs.tsv", pairs(30)), write_vectors(tmp_path / "vectors.txt")
    for arguments, message in [
        ((), "no parallel text given; name two files, one for each language, or one table"),
        ((table,), "no static vectors given"),
        ((table, "--vectors", vectors, "--fields", "1,3"), "pairs.tsv:1: 2 tab-separated columns, but column 3 is"),
        ((table, "--vectors", vectors, "--dropout", "2"), "setting dropout: "),
    ]:
        found = run("cove", "train", "-o", tmp_path / "out", *arguments)
        assert found.code == 2
        assert message in found.err
        assert found.err.count("\n") == 1


def test_translate(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_translator()
    translator_folder.write(model, tmp_path / "model")
    lines = ["one two", "", "Three four.", "eight"]
    text = tmp_path / "text.txt"
    text.write_text("\n".join(lines))
    greedy = run("cove", "translate", tmp_path / "model", text, "--beam", 1)
    assert greedy.out.split("\n")[:-1] == model.translate_lines(lines)
    wide = run("cove", "translate", tmp_path / "model", text, text, "--length-penalty", 0.5)
    assert wide.out.split("\n")[:-1] == 2 * model.translate_lines(lines, beam=4, length_penalty=0.5)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
    assert run("cove", "translate", tmp_path / "model", "--beam", 1).out == greedy.out


def test_translate_messages(run: Command, tmp_path: Path) -> None:
    found = run("cove", "translate", tmp_path)
    assert (found.code, found.err) == (
        2,
        f"polyseme: {tmp_path}: is not a translator; give a folder that polyseme cove train wrote\n",
    )

"""Parallel text in its three layouts, and what is wrong with it."""

import gzip
import json
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.text.parallel import ParallelText, tokens_of
from polyseme.text.segmentation import Segmentation

PAIRS = [("Go.", "Ve."), ("I know it.", "Lo sé."), ("", "Vacío."), ("Ünï \t".strip(), "días")]


def _write(path: Path, text: str) -> str:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def _read(*files: str, fields: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in ParallelText(files, fields)]


@pytest.mark.parametrize("end", ["", ".gz"])
def test_layouts(tmp_path: Path, end: str) -> None:
    sides = [_write(tmp_path / f"a.{n}{end}", "".join(f"{pair[n]}\n" for pair in PAIRS)) for n in (0, 1)]
    table = _write(tmp_path / f"a.tsv{end}", "".join(f"{a}\t{b}\n" for a, b in PAIRS))
    wide = _write(tmp_path / f"b.tsv{end}", "".join(f"x\t{b}\t{a}\ty\n" for a, b in PAIRS))
    lines = "".join(json.dumps({"en": a, "es": b}) + "\n\n" for a, b in PAIRS)
    named = _write(tmp_path / f"a.jsonl{end}", lines)
    usual = _write(tmp_path / f"b.jsonl{end}", lines.replace('"en"', '"source"').replace('"es"', '"target"'))
    assert _read(*sides) == PAIRS
    assert _read(table) == _read(table, fields=("1", "2")) == PAIRS
    assert _read(wide, fields=("3", "2")) == PAIRS
    assert _read(named, fields=("en", "es")) == _read(usual) == PAIRS


def test_a_text_can_be_read_again_and_knows_its_places(tmp_path: Path) -> None:
    text = ParallelText([_write(tmp_path / "a.tsv", "a\tb\nc\td\n")])
    assert [pair.place for pair in text] == [pair.place for pair in text] == [f"{tmp_path}/a.tsv:{n}" for n in (1, 2)]


def test_messages(tmp_path: Path) -> None:
    long, short = _write(tmp_path / "long", "a\nb\nc\n"), _write(tmp_path / "short", "a\nb\n")
    table, lines = tmp_path / "a.tsv", tmp_path / "a.jsonl"
    expected = {
        (long, short): "long:3: has no line beside it, .*short ends after line 2; expected as many lines in both",
        (short, long): "long:3: has no line beside it, .*short ends after line 2",
        (_write(table, "a\tb\na\tb\tc\n"),): r"a.tsv:2: 3 tab-separated columns where two are expected; .*--fields 1,2",
        (_write(tmp_path / "b.tsv", "one\n"),): "b.tsv:1: 1 tab-separated columns where two are expected",
        (_write(lines, '{"source": "a"}\n'),): "a.jsonl:1: no text under 'target'; expected an object with a string",
        (_write(tmp_path / "b.jsonl", "[1]\n"),): "b.jsonl:1: no text under 'source'",
        (_write(tmp_path / "c.jsonl", "{\n"),): "c.jsonl:1: not JSON",
        (str(tmp_path / "none"),): "none: cannot be opened: No such file",
        ("-",): "parallel text is read several times and cannot come from standard input; give files",
        (str(table), short): "a.tsv: a table holds both sides; give it alone, or two files of plain lines",
        (short, short, short): r"got 3 files of parallel text, expected two \(one for each language\) or one table",
    }
    for files, message in expected.items():
        with pytest.raises(InputError, match=message):
            _read(*files)


def test_messages_about_fields(tmp_path: Path) -> None:
    table = _write(tmp_path / "a.tsv", "a\tb\nonly\n")
    for fields, message in {
        ("1", "2"): "a.tsv:2: 1 tab-separated columns, but column 2 is asked for",
        ("1", "x"): "a.tsv: got the fields 1,x, expected the numbers of two columns, such as 1,2",
        ("0", "1"): "got the fields 0,1, expected the numbers",
        ("1",): "got the fields 1; expected two: source,target",
    }.items():
        with pytest.raises(InputError, match=message):
            _read(table, fields=fields)
    with pytest.raises(InputError, match="two plain files have none"):
        ParallelText(["a", "b"], ("1", "2"))


def test_a_line_stays_one_sentence() -> None:
    assert tokens_of(Segmentation("en"), "Go home. It's late.") == ["Go", "home", ".", "It", "'s", "late", "."]
    assert tokens_of(Segmentation(), " a  b ") == ["a", "b"]


def test_auto_goes_by_what_each_side_looks_like(tmp_path: Path) -> None:
    raw, cut = "Lo sé, amigo. Vete, anda.", "it is late , and the bank is closed ."
    text = ParallelText([_write(tmp_path / "a.tsv", f"{cut}\t{raw}\n" * 3)])
    assert text.segmentation("source", "auto")[0] == Segmentation()
    found, note = text.segmentation("target", "auto")
    assert (found, note) == (
        Segmentation("en"),
        "target: the text looks raw and is tokenised by --target-tokenize en",
    )
    assert text.segmentation("target", "char") == (Segmentation("char"), None)
    english = ParallelText(
        [_write(tmp_path / "b.tsv", "The end of the day, and you know it.\t天黑了，我们回家吧。\n" * 9)]
    )
    assert [english.segmentation(side, "auto")[0].tokenizer for side in ("source", "target")] == ["en", "zh"]
    note = english.segmentation("source", "auto")[1]
    assert note == "source: the text looks like raw English and is tokenised by --source-tokenize en"

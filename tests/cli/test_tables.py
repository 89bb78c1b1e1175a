"""Results as a table for people, as CSV and as JSON."""

import csv
import doctest
import io
import json
import math
from pathlib import Path

import pytest
from conftest import Command, refused

from polyseme.cli import tables
from polyseme.files.whole import JSON


def test_the_examples_in_the_docstrings() -> None:
    result = doctest.testmod(tables)
    assert result.attempted
    assert not result.failed


def test_chinese_words_leave_their_numbers_in_line(run: Command, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("曹操 1 0.5\n司马懿 1 0.4\nplay 1 0.25\n荆 -1 0.2\n", encoding="utf-8")
    given = ("similar", "曹操", "--vectors", tmp_path / "vectors.txt")
    words = [one["word"] for one in json.loads(run(*given, "--json").out)["results"]]
    lines = run(*given).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == words
    # Where the number begins, in columns: the Chinese characters before it take two each.
    starts = {line.rindex(" ") + sum(not character.isascii() for character in line) for line in lines}
    assert len(starts) == 1


def test_one_set_of_values_in_three_forms(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, JSON]] = [
        {"word": 'a "b", c', "score": 1 / 3, "known": True, "tokens": ["x", "y"], "more": {"hidden": 1}},
        {"word": "曹操", "score": math.inf, "known": False, "tokens": [], "more": None},
    ]
    columns = (tables.Column("word", 10), tables.Column("score", 8, ".2f", title="of it"))
    wide = tables.Table([*columns, tables.Column("known"), tables.Column("tokens")], rows)
    tables.print_results("csv", "test", {}, wide)
    head, *found = csv.reader(io.StringIO(capsys.readouterr().out))
    assert head == ["word", "score", "known", "tokens"]
    assert found == [['a "b", c', "0.3333333333333333", "true", "x y"], ["曹操", "inf", "false", ""]]
    tables.print_results("json", "test", {"model": "m"}, wide)
    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert list(printed) == ["command", "model", "results"]
    assert printed["results"] == [rows[0], {**rows[1], "score": None}]
    tables.print_results("text", "test", {}, tables.Table(columns, rows))
    assert capsys.readouterr().out == 'word         of it\na "b", c      0.33\n曹操           inf\n'


def test_two_forms_at_once(run: Command, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("bank 1 0.5\nriver 1 0.4\n", encoding="utf-8")
    given = ("similar", "bank", "--vectors", tmp_path / "vectors.txt")
    refused(run(*given, "--json", "--csv"), "--json and --csv are two forms of the same results; give one of them")
    assert run(*given, "--csv").out.splitlines()[0] == "source,word,similarity,occurrences"

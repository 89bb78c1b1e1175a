"""Tagged text as it is read, and the lines that say what is wrong with it."""

import gzip
import json
import re
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.study.sense_data import Lexeme, TaggedSentence, first_senses, read_senses


def tagged(*senses: list[object], tokens: str = "The art of ringing") -> str:
    return json.dumps({"tokens": tokens.split(), "senses": list(senses)}) + "\n"


def read(tmp_path: Path, text: str) -> list[TaggedSentence]:
    path = tmp_path / "text.jsonl"
    path.write_text(text, encoding="utf-8")
    return list(read_senses(path))


def test_words_with_their_senses(tmp_path: Path) -> None:
    first = tagged([1, 1, "art", "NN", ["art%1:06:00::"]], [3, 1, "ring", "VBG", ["ring%2:39:01::;2:39:04::"]])
    second = tagged([0, 2, "art", "NN", ["x", "y"]])
    with gzip.open(tmp_path / "text.gz", "wt", encoding="utf-8") as file:
        file.write(first + "\n" + second)
    one, two = read_senses(tmp_path / "text.gz")
    assert one.tokens == ["The", "art", "of", "ringing"]
    assert [(tag.start, tag.stop, tag.lexeme, tag.senses) for tag in one.tags] == [
        (1, 2, ("art", "noun"), ("art%1:06:00::",)),
        (3, 4, ("ring", "verb"), ("ring%2:39:01::", "ring%2:39:04::")),
    ]
    assert [(tag.start, tag.stop, tag.lexeme, tag.senses) for tag in two.tags] == [(0, 2, ("art", "NN"), ("x", "y"))]
    assert 0 < one.share <= two.share == 1


def test_a_wordnet_key_says_its_part_of_speech(tmp_path: Path) -> None:
    text = tagged([1, 1, "used", "VBN", ["used%3:00:00::"]], [2, 1, "overall", "JJ", ["overall%5:00:00:gross:00"]])
    (sentence,) = read(tmp_path, text)
    assert [tag.lexeme.part for tag in sentence.tags] == ["adjective", "adjective"]


def test_no_sense_fits(tmp_path: Path) -> None:
    text = tagged([0, 1, "the", "DT", ["U"]], [1, 1, "art", "NN", ["art%U"]], [1, 1, "art", "NN", ["art%1:06:00::;U"]])
    (sentence,) = read(tmp_path, text)
    assert [tag.senses for tag in sentence.tags] == [(), (), ("art%1:06:00::",)]


def test_joined_words_are_parted(tmp_path: Path) -> None:
    text = tagged([1, 1, "jury", "NN", ["a"]], [2, 1, "say", "VB", ["b"]], tokens="The Grand__Jury_ said _ this")
    (sentence,) = read(tmp_path, text)
    assert sentence.tokens == ["The", "Grand", "Jury", "said", "_", "this"]
    assert [(tag.start, tag.stop) for tag in sentence.tags] == [(1, 3), (3, 4)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"tokens": ["a"]', r"text.jsonl:2: not JSON: .*; give one object per line, with tokens and senses"),
        ('["a"]', r'text.jsonl:2: expected an object with "tokens", a list of non-empty strings, and "senses", a list'),
        ('{"tokens": ["a", ""], "senses": []}', r'text.jsonl:2: expected an object with "tokens"'),
        ('{"tokens": ["a"], "senses": {}}', r'text.jsonl:2: expected an object with "tokens"'),
        (
            '{"tokens": ["a"], "senses": [[0, 2, "a", "NN", ["x"]]]}',
            r'text.jsonl:2: the sense \[0, 2, "a", "NN", \["x"\]\] is not .* within the 1 tokens; correct the line',
        ),
        ('{"tokens": ["a"], "senses": [[-1, 1, "a", "NN", ["x"]]]}', r"text.jsonl:2: the sense \[-1"),
        ('{"tokens": ["a"], "senses": [[0, 0, "a", "NN", ["x"]]]}', r"text.jsonl:2: the sense \[0, 0"),
        ('{"tokens": ["a"], "senses": [[0, 1, "", "NN", ["x"]]]}', r"text.jsonl:2: the sense"),
        ('{"tokens": ["a"], "senses": [[0, 1, "a", "NN", "x"]]}', r"text.jsonl:2: the sense"),
        ('{"tokens": ["a"], "senses": [[0, 1, "a", "NN"]]}', r"text.jsonl:2: the sense"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, tagged() + line + "\n")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for reading in (lambda: list(read_senses(tmp_path / "no")), lambda: first_senses(tmp_path / "no", set())):
        with pytest.raises(InputError, match=r"no: cannot be opened: No such file or directory"):
            reading()


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    whole = gzip.compress("".join(tagged([1, 1, f"art{n}", "NN", [str(n)]]) for n in range(5000)).encode())
    (tmp_path / "text.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"text\.gz:\d+: cannot be read further"):
        list(read_senses(tmp_path / "text.gz"))


def test_first_senses_by_number_and_part_of_speech(tmp_path: Path) -> None:
    path = tmp_path / "index.sense"
    path.write_text(
        "art%1:04:00:: 00933420 2 15\nart%1:06:00:: 02743547 1 49\n"
        "overall%5:00:00:gross:00 00000001 2 0\noverall%3:00:00:: 00000002 1 0\nplay%2:33:00:: 00000003 1 9\n"
    )
    wanted = {Lexeme("art", "noun"), Lexeme("overall", "adjective"), Lexeme("none", "noun")}
    assert first_senses(path, wanted) == {
        ("art", "noun"): "art%1:06:00::",
        ("overall", "adjective"): "overall%3:00:00::",
    }
    path.write_text("art%1:04:00:: 00933420 2 15\nart is long\n")
    message = "index.sense:2: 'art is long' where a sense key, a synset and a number are expected; give WordNet's"
    with pytest.raises(InputError, match=re.escape(message)):
        first_senses(path, wanted)

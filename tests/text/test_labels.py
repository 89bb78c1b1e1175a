import gzip
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.text.labels import LabelledSentence, LabelledText

TEXT = (
    "# sent_id = one\n"
    "1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\ta\ta\tADP\tIN\t_\t3\tcase\t_\tSpaceAfter=No\textra\n"
    "2\tel\tel\tDET\tDT\tDefinite=Def|Case=Nom\t3\tdet\t_\tFlag|Gloss=the\tmore\n"
    "2.1\tghost\t_\tX\t_\t_\t_\t_\t_\t_\n"
    "3\t_\t_\tNOUN\tNN\tNumber=Sing\t0\troot\t_\t_\tlast\n"
    "\n"
    "1\tsí\tsí\tINTJ\tUH\t_\t0\troot\t_\t_\tend"
)


def labels(tmp_path: Path, column: str, text: str = TEXT) -> list[list[str]]:
    path = tmp_path / "text.conllu"
    path.write_text(text, encoding="utf-8")
    return [sentence.labels for sentence in LabelledText(path, column)]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("upos", [["ADP", "DET", "NOUN"], ["INTJ"]]),
        ("xpos", [["IN", "DT", "NN"], ["UH"]]),
        ("4", [["ADP", "DET", "NOUN"], ["INTJ"]]),
        ("lemma", [["a", "el", "_"], ["sí"]]),
        ("deprel", [["case", "det", "root"], ["root"]]),
        ("feats", [["_", "Definite=Def|Case=Nom", "Number=Sing"], ["_"]]),
        ("feats:Case", [["_", "Nom", "_"], ["_"]]),
        ("misc:Gloss", [["_", "the", "_"], ["_"]]),
        ("misc:Flag", [["_", "Flag", "_"], ["_"]]),
        ("11", [["extra", "more", "last"], ["end"]]),
    ],
)
def test_columns(tmp_path: Path, column: str, expected: list[list[str]]) -> None:
    assert labels(tmp_path, column) == expected


def test_words_are_those_of_the_reader_and_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "text.conllu.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    text = LabelledText(path, "upos")
    expected = [LabelledSentence(["a", "el", "_"], ["ADP", "DET", "NOUN"]), LabelledSentence(["sí"], ["INTJ"])]
    assert list(text) == expected
    assert list(text) == expected
    assert not text.repairs


@pytest.mark.parametrize("column", ["pos", "", "0", "-4", "upos:Case", "feats:", "4:Case"])
def test_unknown_columns(column: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelledText("text.conllu", column)
    assert str(caught.value) == (
        f"unknown column {column!r}; expected form, lemma, upos, xpos, feats, head, deprel, deps, misc, feats:KEY, "
        "misc:KEY or a column's number from 1"
    )


@pytest.mark.parametrize(
    ("column", "line", "message"),
    [
        ("upos", "2\tb\tb\tX", ":2: 4 tab-separated columns where CoNLL-U has 10; give CoNLL-U"),
        ("upos", "2\tb\tb\t\t_\t_\t_\t_\t_\t_", ":2: column upos is empty; write _ for a missing value"),
        ("12", "2\tb\tb\tX\t_\t_\t_\t_\t_\t_", ":2: 10 columns, but column 12 was chosen; choose another"),
        (
            "feats:Case",
            "2\tb\tb\tX\t_\tNom\t_\t_\t_\t_",
            ":2: got features 'Nom', expected Name=Value|Name=Value; correct the line",
        ),
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, column: str, line: str, message: str) -> None:
    good = "1\ta\ta\tX\t_\tCase=Nom\t_\t_\t_\t_\t_\t_\n"
    with pytest.raises(InputError) as caught:
        labels(tmp_path, column, good + line)
    assert f"text.conllu{message}" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none.conllu: cannot be opened: No such file or directory; give a CoNLL-U file"
    ):
        list(LabelledText(tmp_path / "none.conllu", "upos"))

"""Where sentences came from: file, line, document."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.text.choices import TOKENIZERS, Tokenizer
from polyseme.text.corpus import Corpus

WRAPPED = """\
It was a bright cold day in April, and the clocks were striking thirteen. The hallway
smelt of boiled cabbage and old rag mats. At one end of it a coloured poster, too large
for indoor display, had been tacked to the wall.

It depicted simply an enormous face. Nothing
more.
"""


def places(path: Path, **options: object) -> list[tuple[int | None, str]]:
    found = list(Corpus([path], **options))  # type: ignore[arg-type]
    assert {one.file for one in found} == {str(path)}
    return [(one.line, one.tokens[0] if one.tokens else "") for one in found]


def test_lines_that_are_joined_to_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WRAPPED)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(WRAPPED.encode()))
    expected = [(1, "It"), (1, "The"), (2, "At"), (5, "It"), (5, "Nothing")]
    assert places(tmp_path / "a.txt", tokenize="en") == expected
    assert places(tmp_path / "a.txt.gz", tokenize="en") == expected
    assert places(tmp_path / "a.txt", tokenize="none")[3:] == [(4, ""), (5, "It"), (6, "more.")]


@settings(max_examples=30, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(["他说：好！", "It is 3.5 p.m. now.", " ", "\u3000走吧。", "\u00a0x y", "Mr.\tX…"]), max_size=12
    ),
    tokenizer=st.sampled_from(TOKENIZERS),
)
def test_a_sentence_begins_on_its_line(
    text: list[str], tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_text("\n".join(text), encoding="utf-8")
    lines = ["".join(line.split()) for line in text]
    before = 0
    for sentence in Corpus([path], tokenize=tokenizer):
        # The plain count: the first line up to whose end there are more characters than before the sentence.
        ends = [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
        assert sentence.line == 1 + next(number for number, end in enumerate(ends) if end > before)
        before += len("".join("".join(sentence.tokens).split()))
    assert before == sum(map(len, lines))


def test_other_layouts(tmp_path: Path) -> None:
    word = "1\tcat" + "\t_" * 8 + "\n"
    (tmp_path / "a.conllu").write_text(f"# newdoc id = d1\n# sent_id = s1\n{word}\n{word}\n# newdoc\n{word}")
    found = list(Corpus([tmp_path / "a.conllu"]))
    assert [(one.line, one.document, one.name) for one in found] == [(3, "d1", "s1"), (5, "d1", None), (8, None, None)]
    (tmp_path / "b.jsonl").write_text('\n{"id": 7, "text": "One. Two."}\n')
    found = list(Corpus([tmp_path / "b.jsonl"], tokenize="en"))
    assert [(one.line, one.document, one.name) for one in found] == [(2, "7", "7")] * 2
    (tmp_path / "c.fa").write_text(">P1 a\nMK\nV\n\n>P2\nM\n")
    assert [(one.line, one.document) for one in Corpus([tmp_path / "c.fa"])] == [(1, "P1"), (5, "P2")]

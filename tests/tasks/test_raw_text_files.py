"""Raw text in a file is read where answers are predicted, and is told from columns."""

from pathlib import Path

import pytest
from tasks.test_readers import opened, read

from polyseme.errors import InputError
from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Document, Tagged, Text
from polyseme.tasks.readers.opening import open_examples
from polyseme.tasks.readers.reading import Options
from polyseme.text.segmentation import Segmentation

PROSE = "Mr. Pitt sat on the bank. It was wet, and he left.\nThen he came back.\n"


@pytest.mark.parametrize(
    ("name", "content", "task", "sentences"),
    [
        (
            "letters.txt",
            PROSE,
            "ner",
            ["Mr. Pitt sat on the bank .", "It was wet , and he left .", "Then he came back ."],
        ),
        ("letters", PROSE, "tag", ["Mr. Pitt sat on the bank .", "It was wet , and he left .", "Then he came back ."]),
        ("even.txt", "Good films.\n\nBad films.\n", "ner", ["Good films .", "Bad films ."]),
        ("even.txt", "Good films.\n\nBad films.\n", "tag", ["Good films .", "Bad films ."]),
        ("words.txt", "Wait.\n", "tag", ["Wait ."]),
        ("indented.txt", "\tHe sat.\n\tHe left.\n", "ner", ["He sat .", "He left ."]),
    ],
)
def test_raw_text_is_read_where_no_answers_are_needed(
    tmp_path: Path, name: str, content: str, task: TaskName, sentences: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    examples = open_examples(path, task=task, options=Options(labelled=False), segmentation=Segmentation("en"))
    assert examples.format == "text"
    assert [" ".join(one.tokens) for one in examples if isinstance(one, Tagged)] == sentences
    named = open_examples(path, task=task, format="text", options=Options(labelled=False))  # tokenised by its look
    assert named.read()
    with pytest.raises(InputError, match="raw text has no answers to learn or to compare with"):
        open_examples(path, task=task, format="text", segmentation=Segmentation("en")).read()


def test_chinese_lines_are_raw_text(tmp_path: Path) -> None:
    path = tmp_path / "信.txt"
    path.write_text("今天我在北京的银行上班。\n\n明天我们去河边散步。\n", encoding="utf-8")
    examples = open_examples(path, task="ner", options=Options(labelled=False), segmentation=Segmentation("zh"))
    assert examples.format == "text"
    assert len(examples.read()) == 2


@pytest.mark.parametrize(
    ("content", "task"),
    [
        ("EU B-ORG\nrejects O\n", "ner"),
        ("EU NNP I-NP B-ORG\nrejects VBZ I-VP O\n", "ner"),
        ("王 B-PER\n五 I-PER\n", "ner"),
        ("The DET\nbank NOUN\n. .\n", "tag"),
        ("EU\tsomething\nrejects\tother\n", "tag"),
        ("He\nsat\n.\n\nHe\nleft\n.\n", "ner"),
    ],
)
def test_columns_are_not_taken_for_raw_text(tmp_path: Path, content: str, task: TaskName) -> None:
    assert opened(tmp_path, "a.txt", content, task, labelled=False).format == "conll"


def test_raw_text_of_other_tasks(tmp_path: Path) -> None:
    assert read(tmp_path, "a.txt", "A good film. I like it.\n\nA bad one\n", "classify", labelled=False) == [
        Text(("A", "good", "film", ".", "I", "like", "it", ".")),
        Text(("A", "bad", "one")),
    ]
    (document,) = read(tmp_path, "a.txt", PROSE, "coref", labelled=False)
    assert isinstance(document, Document)
    assert len(document.sentences) == 3


@pytest.mark.parametrize(
    ("name", "content"), [("a.conll", PROSE), ("a.txt", "EU\tB-ORG\nrejects\n".replace("rejects", "rejects\tO\tx"))]
)
def test_a_dead_end_names_the_format_of_raw_text(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(
        InputError, match=r"is in no known format .*; or name its format, as --format text for raw text$"
    ):
        opened(tmp_path, name, content, "ner", labelled=False)
    with pytest.raises(InputError, match=r"; or name its format$"):
        opened(tmp_path, name, content, "ner")

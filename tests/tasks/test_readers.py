"""Every format is recognised and read as its authors mean it."""

import gzip
import json
from pathlib import Path

import pytest
from task_files import CONLL, CONLL2012, CONLLU, COREF, CSV, SICK, SNLI, SQUAD, SST, TSV, UP, WIKIANN

from polyseme.tasks.choices import FORMAT_NAMES, FormatName, TaskName
from polyseme.tasks.examples import Answer, Document, Example, Pair, Question, Roles, Span, Tagged, Text
from polyseme.tasks.readers.formats import FORMATS
from polyseme.tasks.readers.opening import Examples, open_examples
from polyseme.tasks.readers.reading import Options
from polyseme.tasks.readers.repairs import (
    BROKEN_TAG,
    CUT_DOCUMENT,
    DOUBLE_MENTION,
    EMPTY_DOCUMENT,
    EMPTY_TEXT,
    EMPTY_TOKEN,
    INSIDE_TOKEN,
    LOST_ANSWER,
    MOVED_ANSWER,
    NEUTRAL,
    NO_ANSWER,
    NO_GOLD_LABEL,
    TWO_CLUSTERS,
    UNCLOSED_SPAN,
    UNPAIRED_MENTION,
    WITHHELD,
)
from polyseme.text.segmentation import Segmentation

RECOGNISED: list[tuple[str, str, TaskName, FormatName, int]] = [
    ("eng.testa", CONLL, "ner", "conll", 2),
    ("eng.testa", CONLL, "tag", "conll", 2),
    ("dev", WIKIANN, "ner", "wikiann", 2),
    ("dev.conllu", CONLLU, "tag", "conllu", 2),
    ("up.conllu", UP, "tag", "conllu", 2),
    ("up.conllu", UP, "roles", "up", 2),
    ("dev.txt", SST, "classify", "sst", 3),
    ("dev.jsonl", SNLI, "entail", "snli", 2),
    ("SICK.txt", SICK, "entail", "sick", 2),
    ("dev.json", SQUAD, "answer", "squad", 3),
    ("x.gold_conll", CONLL2012, "roles", "conll2012", 2),
    ("x.gold_conll", CONLL2012, "coref", "coref", 1),
    ("x.conll", COREF, "coref", "coref", 1),
    ("my.tsv", TSV, "classify", "tsv", 2),
]


def opened(folder: Path, name: str, content: str, task: TaskName, **options: object) -> Examples:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return open_examples(path, task=task, options=Options(**options))  # type: ignore[arg-type]


def read(folder: Path, name: str, content: str, task: TaskName, **options: object) -> list[Example]:
    return opened(folder, name, content, task, **options).read()


@pytest.mark.parametrize(("name", "content", "task", "form", "count"), RECOGNISED)
def test_formats_are_recognised(
    tmp_path: Path, name: str, content: str, task: TaskName, form: FormatName, count: int
) -> None:
    examples = opened(tmp_path, name, content, task)
    assert examples.format == form
    found = examples.read()
    assert len(found) == count
    assert examples.read() == found
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert list(open_examples(packed, task=task)) == found
    assert list(open_examples(packed, task=task, format=form)) == found
    assert len({*found}) == len(found)  # examples are hashable


def test_every_format_has_its_row() -> None:
    assert sorted(row.name for row in FORMATS) == sorted(FORMAT_NAMES)


def test_conll_columns(tmp_path: Path) -> None:
    found = read(tmp_path, "a", CONLL, "ner")
    assert found[0] == Tagged(("EU", "rejects", "German"), ("B-ORG", "O", "B-MISC"))
    assert found[1] == Tagged(("#", "Peter", "Blackburn"), ("O", "B-PER", "I-PER"))
    assert read(tmp_path, "a", CONLL, "tag", column="2")[0] == Tagged(("EU", "rejects", "German"), ("NNP", "VBZ", "JJ"))
    assert read(tmp_path, "b", "EU\nrejects\n\nPeter\n", "ner", labelled=False) == [
        Tagged(("EU", "rejects")),
        Tagged(("Peter",)),
    ]


def test_broken_tags_are_mended_and_counted(tmp_path: Path) -> None:
    examples = opened(tmp_path, "a.txt", "a I-PER\nb I-PER\nc I-LOC\nd O\ne E-LOC\nf B-LOC\ng I-LOC\n", "ner")
    assert examples.read() == [
        Tagged(tuple("abcdefg"), ("B-PER", "I-PER", "B-LOC", "O", "S-LOC", "B-LOC", "I-LOC")),
    ]
    assert examples.repairs[BROKEN_TAG] == 3
    assert str(examples.repairs) == f"{BROKEN_TAG}: 3, the first at {tmp_path / 'a.txt'}:1"
    assert examples.repairs.to_dict() == {BROKEN_TAG: 3}
    assert opened(tmp_path, "a.txt", "a I-PER\n", "tag").read() == [Tagged(("a",), ("I-PER",))]


def test_wikiann(tmp_path: Path) -> None:
    examples = opened(tmp_path, "a", WIKIANN + "en:\tO\n", "ner")
    assert examples.read() == [
        Tagged(("The", ":", "Bahn"), ("O", "O", "B-ORG")),
        Tagged(("St.", "Ives"), ("B-LOC", "I-LOC")),
        Tagged(("\ufffd",), ("O",)),
    ]
    assert examples.repairs[EMPTY_TOKEN] == 1


def test_conllu(tmp_path: Path) -> None:
    tokens = ("She", "ca", "n't")
    assert read(tmp_path, "a", CONLLU, "tag")[0] == Tagged(tokens, ("PRON", "AUX", "PART"))
    assert read(tmp_path, "a", CONLLU, "tag", column="xpos")[0] == Tagged(tokens, ("PRP", "MD", "RB"))
    assert read(tmp_path, "a", CONLLU, "tag", column="feats:Number")[0] == Tagged(tokens, ("Sing", "_", "_"))


def test_trees(tmp_path: Path) -> None:
    assert read(tmp_path, "a", SST, "classify") == [
        Text(("It", "'s", "fun", "("), "3"),
        Text(("A", "film/book"), "2"),
        Text(("Not", "good"), "0"),
    ]
    two = opened(tmp_path, "a", SST, "classify", classes=2)
    assert two.read() == [Text(("It", "'s", "fun", "("), "positive"), Text(("Not", "good"), "negative")]
    assert two.repairs[NEUTRAL] == 1
    assert len(read(tmp_path, "a", SST, "classify", subtrees=True)) == 7 + 3 + 3
    assert Text(("fun",), "positive") in read(tmp_path, "a", SST, "classify", subtrees=True, classes=2)
    again = read(tmp_path, "b", "(3 (2 very) (3 (2 very) (3 good)))\n(3 good)\n(3 good)\n", "classify", subtrees=True)
    assert [" ".join(text.tokens) for text in again if isinstance(text, Text)] == [
        *("very", "good", "very good", "very very good"),
        *("good", "good"),  # whole texts are never left out
    ]


def test_pairs(tmp_path: Path) -> None:
    snli = opened(tmp_path, "a", SNLI, "entail")
    assert snli.read()[0] == Pair(
        ("A", "man", "sleeps", ",", "and", "the", "dog", "barks", "."), ("He", "is", "n't", "awake", "."), "entailment"
    )
    assert snli.repairs[NO_GOLD_LABEL] == 1
    assert read(tmp_path, "b", SICK, "entail")[0] == Pair(
        ("A", "dog", "is", "n't", "running"), ("A", "cat", "runs"), "NEUTRAL"
    )


def test_questions(tmp_path: Path) -> None:
    squad = opened(tmp_path, "a", SQUAD, "answer")
    found = squad.read()
    first = found[0]
    assert isinstance(first, Question)
    assert first.tokens[:5] == ("The", "Denver", "Broncos", "won", ",")
    assert [first.passage[start:end] for start, end in first.offsets] == [*first.tokens]
    assert first.answers == (Answer(4, "Denver Broncos"),)
    assert isinstance(found[1], Question)
    assert found[1].answers == (Answer(44, "Santa Clara"),)
    counted = [squad.repairs[what] for what in (MOVED_ANSWER, INSIDE_TOKEN, LOST_ANSWER, NO_ANSWER)]
    assert counted == [1, 1, 1, 1]
    assert "data[0].paragraphs[0].qas[1]" in str(squad.repairs)
    unlabelled = read(tmp_path, "a", SQUAD.replace('"answers"', '"other"'), "answer", labelled=False)
    assert [question.answers for question in unlabelled if isinstance(question, Question)] == [None] * 4


def test_a_long_line_of_json_is_read(tmp_path: Path) -> None:
    passage = "w" * 10_000 + " end"
    paragraph = {
        "context": passage,
        "qas": [{"id": "q", "question": "What?", "answers": [{"answer_start": 10_001, "text": "end"}]}],
    }
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"data": [{"paragraphs": [paragraph] * 2_000}]}).encode()))
    assert sum(1 for _ in open_examples(path, task="answer", segmentation=Segmentation())) == 2_000


def test_roles_of_conll_2012(tmp_path: Path) -> None:
    tokens = ("John", "wants", "to", "see", "his", "dog")
    assert read(tmp_path, "a", CONLL2012, "roles") == [
        Roles(tokens, 1, (Span(0, 1, "ARG0"), Span(1, 2, "V"), Span(2, 6, "ARG1"))),
        Roles(tokens, 3, (Span(3, 4, "V"), Span(4, 6, "ARG1"))),
    ]
    broken = opened(tmp_path, "a", CONLL2012.replace("* *) *) 3)", "* *) * 3)"), "roles")
    assert broken.read() == opened(tmp_path, "b", CONLL2012, "roles").read()
    assert broken.repairs[UNCLOSED_SPAN] == 1


def test_universal_propositions(tmp_path: Path) -> None:
    tokens = ("The", "old", "dog", "that", "barked", "saw", "a", "cat")
    assert read(tmp_path, "a", UP, "roles") == [
        Roles(tokens, 4, (Span(2, 3, "ARG0"), Span(3, 4, "R-ARG0"), Span(4, 5, "V"))),
        Roles(tokens, 5, (Span(2, 3, "ARG0"), Span(5, 6, "V"), Span(7, 8, "ARG1"))),
    ]
    assert read(tmp_path, "a", UP, "roles", spans="subtree") == [
        Roles(tokens, 4, (Span(0, 3, "ARG0"), Span(3, 4, "R-ARG0"), Span(4, 5, "V"))),
        Roles(tokens, 5, (Span(0, 5, "ARG0"), Span(5, 6, "V"), Span(6, 8, "ARG1"))),
    ]


def test_coreference(tmp_path: Path) -> None:
    examples = opened(tmp_path, "a", COREF, "coref")
    assert examples.read() == [
        Document(
            "first",
            (("Ann", "saw", "Ben", "Lee", "."), ("He", "waved", ".")),
            (((0, 1), (5, 6)), ((2, 4), (7, 8)), ((2, 6),)),
        )
    ]
    assert (examples.repairs[CUT_DOCUMENT], examples.repairs[WITHHELD]) == (1, 1)
    examples = opened(tmp_path, "b", CONLL2012, "coref")
    assert examples.read() == [
        Document(
            "(bc/cctv/00/cctv_0001); part 000",
            (("John", "wants", "to", "see", "his", "dog"), ("It", "!")),
            (((0, 1), (4, 5)), ((4, 6), (6, 7))),
        )
    ]
    assert examples.repairs[EMPTY_DOCUMENT] == 1
    broken = opened(tmp_path, "c", COREF.replace("3\tLee\t3)", "3\tLee\t9)"), "coref")
    broken.read()
    assert broken.repairs[UNPAIRED_MENTION] == 2


def test_a_mention_belongs_to_one_cluster(tmp_path: Path) -> None:
    columns = "#begin document d\n0\tAnn\t(1)(2)(1)\n1\tsaw\t_\n2\ther\t(2)\n3\tit\t(1)\n#end document\n"
    examples = opened(tmp_path, "a", columns, "coref")
    (document,) = examples.read()
    assert isinstance(document, Document)
    assert document.clusters == (((0, 1), (3, 4)), ((2, 3),))
    assert (examples.repairs[TWO_CLUSTERS], examples.repairs[DOUBLE_MENTION]) == (1, 1)
    record = {"sentences": [["a", "b"]], "clusters": [[[1, 2], [0, 1]], [[0, 1], [0, 2]]]}
    examples = opened(tmp_path, "a.jsonl", json.dumps(record), "coref")
    (document,) = examples.read()
    assert isinstance(document, Document)
    assert document.clusters == (((0, 1), (1, 2)), ((0, 2),))
    assert examples.repairs[TWO_CLUSTERS] == 1


def test_own_tables(tmp_path: Path) -> None:
    columns = {"text": "review", "label": "stars"}
    examples = opened(tmp_path, "my.csv", CSV, "classify", columns=columns)
    assert examples.segmentation == Segmentation("en")
    found = examples.read()
    assert isinstance(found[0], Text)
    assert (found[0].tokens[:4], found[0].label, len(found)) == (("Good", ",", "and", '"'), "5", 2)
    assert examples.repairs[EMPTY_TEXT] == 1
    assert read(tmp_path, "my.tsv", TSV, "classify")[0] == Text(('"', "Well", ",", "said", "the", "cat", "."), "pos")
    bare = read(
        tmp_path, "b.tsv", "1\tso good\n0\tso bad\n", "classify", columns={"text": "2", "label": "1"}, header=False
    )
    assert bare == [Text(("so", "good"), "1"), Text(("so", "bad"), "0")]
    tags = read(
        tmp_path, "c.csv", 'tokens,tags\nAnn left,B-PER O\n"[""a b"", ""c""]","[""O"", ""O""]"\n[ x,O O\n', "ner"
    )
    assert tags == [
        Tagged(("Ann", "left"), ("B-PER", "O")),
        Tagged(("a b", "c"), ("O", "O")),
        Tagged(("[", "x"), ("O", "O")),
    ]


def test_chinese_text_is_split_into_words(tmp_path: Path) -> None:
    rows = "".join(f"这家饭店的服务非常好，我们很喜欢。,{label}\n" for label in ("好", "坏"))
    examples = opened(tmp_path, "a.csv", "text,label\n" + rows.replace("，", "、"), "classify")
    assert examples.segmentation == Segmentation("zh")
    found = examples.read()[0]
    assert isinstance(found, Text)
    assert "饭店" in found.tokens


@pytest.mark.parametrize(
    ("task", "record", "expected"),
    [
        ("classify", {"tokens": ["a", "b"], "label": 3}, Text(("a", "b"), "3")),
        ("entail", {"premise": ["a"], "hypothesis": "b c", "label": "no"}, Pair(("a",), ("b", "c"), "no")),
        (
            "answer",
            {"id": 7, "question": "q ?", "passage": "x yy z", "answers": ["yy", {"start": 5, "text": "z"}]},
            Question(
                "7", ("q", "?"), "x yy z", ("x", "yy", "z"), ((0, 1), (2, 4), (5, 6)), (Answer(2, "yy"), Answer(5, "z"))
            ),
        ),
        (
            "answer",
            {"question": "q ?", "passage": "x y", "answer": "y"},
            Question("1", ("q", "?"), "x y", ("x", "y"), ((0, 1), (2, 3)), (Answer(2, "y"),)),
        ),
        (
            "roles",
            {"tokens": ["a", "b"], "predicate": 1, "spans": [[1, 2, "V"], [0, 1, "A0"]]},
            Roles(("a", "b"), 1, (Span(0, 1, "A0"), Span(1, 2, "V"))),
        ),
        ("roles", {"tokens": ["a"], "predicate": 0, "spans": [[0, 9, "A0"]]}, Roles(("a",), 0, (Span(0, 1, "A0"),))),
        (
            "coref",
            {"sentences": [["a", "b"], ["c"]], "clusters": [[[2, 3], [0, 1]]], "id": "d"},
            Document("d", (("a", "b"), ("c",)), (((0, 1), (2, 3)),)),
        ),
    ],
)
def test_json_lines(tmp_path: Path, task: TaskName, record: dict[str, object], expected: Example) -> None:
    assert read(tmp_path, "a.jsonl", json.dumps(record) + "\n\n", task) == [expected]


@pytest.mark.parametrize("task", ["classify", "tag", "ner", "entail", "answer", "roles", "coref"])
def test_answers_need_not_be_there(tmp_path: Path, task: TaskName) -> None:
    record = {"text": "a b", "premise": "a", "hypothesis": "b", "question": "a", "passage": "b"}
    if task in ("roles", "coref"):
        record |= {"tokens": "a b", "predicate": "1", "sentences": '[["a", "b"]]'}
    (found,) = read(tmp_path, "a.jsonl", json.dumps(record), task, labelled=False)
    answer = ("label", "tags", "answers", "spans", "clusters")
    assert [getattr(found, name) for name in answer if hasattr(found, name)] == [None]


def test_mixed_encodings_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes("Zürich B-LOC\n\n".encode() + "Köln B-LOC\n".encode("latin-1"))
    examples = open_examples(path, task="ner")
    assert [example.tokens for example in examples if isinstance(example, Tagged)] == [("Zürich",), ("K\ufffdln",)]
    assert str(examples.repairs) == f"1 invalid UTF-8 sequence replaced by U+FFFD, the first at {path}:3"

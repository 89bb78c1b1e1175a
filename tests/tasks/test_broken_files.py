"""A file that is not as it should be gives one line that says where and what; nothing else is ever raised."""

import gzip
import random
from pathlib import Path

import pytest
from task_files import CONLL, CONLL2012, CONLLU, COREF, CSV, SICK, SNLI, SQUAD, SST, TSV, UP, WIKIANN

from polyseme.errors import InputError
from polyseme.tasks.choices import TASKS, FormatName, TaskName
from polyseme.tasks.readers.formats import FORMATS
from polyseme.tasks.readers.opening import open_examples
from polyseme.tasks.readers.reading import Options

OWN = """{"text": "so good", "tokens": ["so", "good"], "tags": ["O", "O"], "label": "1", "predicate": 0, "spans": [],
"premise": "a", "hypothesis": "b", "question": "q", "passage": "p", "answer": "p", "sentences": [["a"]], "clusters": []}
""".replace(",\n", ", ")
FILES = [CONLL, WIKIANN, CONLLU, SST, SNLI, SICK, SQUAD, CONLL2012, UP, COREF, CSV, TSV, "text,label\nso good,1\n", OWN]


@pytest.mark.parametrize(
    ("name", "content", "task", "message"),
    [
        ("a", "", "ner", "a: is empty; give examples"),
        ("a", "\n \n", "ner", "a: is empty; give examples"),
        (
            "a",
            SST,
            "ner",
            "a: looks like sst, which holds no data for the task 'ner'; give one of: csv (the suffix .csv)",
        ),
        ("a", "one two\nthree\n", "ner", "a: is in no known format for the task 'ner'; give one of: "),
        ("a", "x O\ny\n" * 200, "ner", "a: is in no known format for the task 'ner'"),
        ("a", "a O\n" * 300 + "b\n", "ner", "a:301: 1 columns, but the sentence began with 2; correct the line"),
        ("a", "a PER\n", "ner", "a:1: the tag 'PER' is not one of BIO or BIOES"),
        ("a", "a\n", "ner", "a:1: no tag in the last column of 1; correct the line, or choose the column of the tags"),
        ("a", "a\t\n", "tag", "a:1: no tag in the last column of 2; correct the line"),
        ("a", "en:a\tO\nen:b\tO\n" * 150 + "c\tO\n", "ner", "a:301: 'c\\tO' where WikiANN has 'en:token TAB tag'"),
        ("a", CONLLU.replace("\tPRP", ""), "tag", "a: is in no known format"),
        ("a", CONLLU + CONLLU * 100 + "1\tx\n", "tag", "2 tab-separated columns where CoNLL-U has 10; give CoNLL-U"),
        ("a", "(3 (2 a) (2 b)\n", "classify", "a:1: the tree '(3 (2 a) (2 b)' has no end; give trees as"),
        ("a", "(3 (2 a)) (2 b)\n", "classify", "a:1: the tree '(3 (2 a)) (2 b)' goes on behind its last bracket"),
        ("a", "(3 (7 a))\n", "classify", "a:1: the tree '(3 (7 a))' has the class '7' where one of 0 to 4 is expected"),
        ("a", "(3 (2))\n", "classify", "a:1: the tree '(3 (2))' has a bracket without a word"),
        ("a", "(3 (2 a)))\n", "classify", "a:1: the tree '(3 (2 a)))' goes on behind its last bracket"),
        ("a", SNLI + '{"gold_label": "x"}\n', "entail", 'a:4: no "sentence1" and "sentence2"; give SNLI\'s JSON lines'),
        ("a", SNLI + "nothing\n", "entail", "a:4: not JSON: "),
        ("a", SNLI.replace('"neutral"', "3"), "entail", 'a:3: "gold_label" is 3; give a string'),
        ("a", SICK + "5\tA\n", "entail", "a:4: 2 columns, but the header has 5; correct the line"),
        ("a", SICK.replace("entailment_judgment", "x"), "entail", "a:1: columns pair_ID, sentence_A, sentence_B"),
        ("a", '{"data": 3}', "answer", "a: data: a list of objects is expected; give SQuAD 1.1"),
        ("a", '{"data": [{"paragraphs": [{}]}]}', "answer", 'a: data[0].paragraphs[0]: no "context"; give SQuAD 1.1'),
        ("a", SQUAD[:300], "answer", "a: not JSON: "),
        (
            "a",
            SQUAD.replace('"answer_start": 40, ', ""),
            "answer",
            'data[0].paragraphs[0].qas[1]: an answer needs "answer_start"',
        ),
        ("a", SQUAD.replace('"id": "q1"', '"id": 1'), "answer", 'qas[0]: no "question" and "id", both strings'),
        (
            "a",
            CONLL2012.replace("(ARG0*) *", "*) *"),
            "roles",
            "a:2: '*)' where an argument is expected as (ARG0*, *, *) or",
        ),
        (
            "a",
            CONLL2012.replace("(V*) *", "* *"),
            "roles",
            "a:2: column 12 has arguments, but no predicate (V*); correct it",
        ),
        (
            "a",
            CONLL2012.replace("(12)\n", "\n", 1),
            "roles",
            "a:3: 14 columns, where 13 as the first of its sentence are expected",
        ),
        ("a", UP.replace("bark.01", "_"), "roles", "a:2: 1 predicates, but 2 columns of arguments; give one for each"),
        ("a", COREF.replace("(2(3", "(2((3"), "coref", "a:4: '(2((3' where mentions are expected as (3, (3) or 3)"),
        (
            "a.csv",
            CSV,
            "classify",
            "a.csv:3: no column 'text'; there are 'id', 'review', 'stars': say which of them is the text, as "
            "--columns text=NAME1,label=NAME2",
        ),
        (
            "a.csv",
            "标签,评论\n1,很好\n",
            "classify",
            "which of them is the text, as --columns text=评论,label=标签",
        ),
        ("a.csv", "text,stars\na,b\n", "classify", "say which of them is the label, as --columns label=NAME1"),
        ("a.csv", "review,label\na,b\n", "classify", "say which of them is the text, as --columns text=review"),
        ("a.csv", "text,label\na,b,c\n", "classify", "a.csv:2: 3 values for 2 columns; correct the line"),
        ("a.csv", 'text,label\n"a', "classify", "a.csv:2: not CSV: unexpected end of data"),
        (
            "a.csv",
            "text,label\na,\n",
            "classify",
            "a.csv:2: 'label' is '', but a string or a number that is not empty is expected",
        ),
        (
            "a.csv",
            "text,label\n,x\n",
            "classify",
            "no example for the task 'classify' in it (texts without a token, left out: 1",
        ),
        ("a.csv", "tokens,tags\na b,O\n", "ner", "a.csv:2: 1 tags for 2 tokens; give one for each"),
        ("a.jsonl", '{"tokens": [1], "label": "x"}', "classify", "a.jsonl:1: 'tokens' is '[1]', but a list of strings"),
        ("a.jsonl", '{"text": 3, "label": "x"}', "classify", "a.jsonl:1: 'text' is '3', but a string is expected"),
        (
            "a.jsonl",
            '{"tokens": ["a"], "predicate": 1, "spans": []}',
            "roles",
            "but the position of a token, 0 to 0, is expected",
        ),
        (
            "a.jsonl",
            '{"tokens": ["a"], "predicate": 0, "spans": [[0]]}',
            "roles",
            "but a list of [start, end, label] is expected",
        ),
        (
            "a.jsonl",
            '{"tokens": ["a"], "predicate": 0, "spans": [[1, 2, "X"]]}',
            "roles",
            "but a start before token 1 is expected",
        ),
        (
            "a.jsonl",
            '{"sentences": [["a"]], "clusters": [[[0, 2]]]}',
            "coref",
            "but a list of lists of [start, end] within 1 tokens",
        ),
        (
            "a.jsonl",
            '{"sentences": "x", "clusters": []}',
            "coref",
            "'sentences' is 'x', but a list as JSON writes it is expected",
        ),
        ("a.jsonl", '{"question": "q", "passage": "p", "answers": [3]}', "answer", "but a list of strings or of"),
        ("a.jsonl", "[" * 100_000, "classify", "a.jsonl:1: not JSON: "),
        (
            "a",
            "some words\nand more\n",
            "classify",
            "a: is in no known format for the task 'classify'; give one of: sst",
        ),
    ],
)
def test_messages(tmp_path: Path, name: str, content: str, task: TaskName, message: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    with pytest.raises(InputError) as raised:
        open_examples(path, task=task).read()
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_choices_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(CONLL)
    wrong: list[tuple[object, str]] = [
        (lambda: open_examples(path, task="sing"), "unknown task 'sing'; choose one of classify, tag"),  # type: ignore[arg-type]
        (lambda: open_examples(path, task="ner", format="xml"), "unknown format 'xml'; choose one of auto, conll"),  # type: ignore[arg-type]
        (
            lambda: open_examples(path, task="ner", format="sst"),
            "the format sst holds no data for the task 'ner', only for",
        ),
        (lambda: open_examples(tmp_path / "no", task="ner"), "no: cannot be opened: No such file or directory"),
        (
            lambda: open_examples(path, task="ner", options=Options(column="x")).read(),
            "column 'x' is not a number from 2",
        ),
        (lambda: open_examples(path, task="ner", options=Options(column="9")).read(), "a:3: no tag in column 9 of 4"),
        (lambda: Options(classes=3), "classes is 3; SST's trees have 5 classes, or 2"),
        (lambda: Options(spans="x"), "spans is 'x'; choose heads or subtree"),  # type: ignore[arg-type]
    ]
    for call, message in wrong:
        assert callable(call)
        with pytest.raises(InputError) as raised:
            call()
        assert message in str(raised.value)


def test_a_truncated_gz_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.conll.gz"
    lines = "".join(f"word{number} B-X{number}\n\n" for number in range(20_000))
    path.write_bytes(gzip.compress(lines.encode())[:-5000])
    with pytest.raises(InputError, match="the file is damaged or truncated, fetch it again"):
        open_examples(path, task="ner").read()


@pytest.mark.parametrize("form", [row.name for row in FORMATS])
def test_damaged_files_raise_nothing_else(tmp_path: Path, form: FormatName) -> None:
    """Every format is given every file, with characters taken out, put in and moved."""
    chance = random.Random(form)
    choices = Options(spans="subtree", labelled=form != "text")
    path = tmp_path / "a"
    read = 0
    messages: list[str] = []
    for content in FILES * 6:
        text = list(content)
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(text))
            match chance.randrange(4):
                case 0:
                    del text[at : at + chance.randrange(1, 9)]
                case 1:
                    text.insert(at, chance.choice("\t\n ()[]{}\"'*|,-_#0\0\ud800é"))
                case 2:
                    text[at:at] = text[chance.randrange(len(text)) :][:20]
                case _:
                    text = text[: at + 1]
        path.write_bytes("".join(text).encode("utf-8", "surrogatepass"))
        for task in TASKS:
            try:
                read += len(open_examples(path, task=task, format=form, options=choices).read())
            except InputError as error:
                messages.append(str(error))
    assert read
    assert not [message for message in messages if "\n" in message]

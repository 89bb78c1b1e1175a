"""Predictions go into the file's own format, and read back as they were."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from task_files import CONLL, CONLL2012, CONLLU, COREF, CSV, SNLI, SQUAD, TSV, UP, WIKIANN

from polyseme.errors import InputError, OutputError
from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Answer, Document, Question, Roles, Span, Tagged, Text
from polyseme.tasks.readers.opening import Examples, open_examples
from polyseme.tasks.readers.reading import Options
from polyseme.tasks.writers.writing import write_predictions


def examples_of(folder: Path, name: str, content: str, task: TaskName, options: Options | None = None) -> Examples:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return open_examples(path, task=task, options=options)


@pytest.mark.parametrize(
    ("name", "content", "task", "options"),
    [
        ("a", CONLL, "ner", Options()),
        ("a", CONLL, "tag", Options(column="2")),
        ("a", WIKIANN, "ner", Options()),
        ("a.conllu", CONLLU, "tag", Options()),
        ("a.conllu", CONLLU, "tag", Options(column="feats:Number")),
        ("a", UP, "roles", Options()),
        ("a", UP, "roles", Options(spans="subtree")),
        ("a", CONLL2012, "roles", Options()),
        ("a.tsv", TSV, "classify", Options()),
        ("a.csv", CSV, "classify", Options(columns={"text": "review", "label": "stars"})),
    ],
)
def test_what_was_read_is_written_as_it_was(
    tmp_path: Path, name: str, content: str, task: TaskName, options: Options
) -> None:
    examples = examples_of(tmp_path, name, content, task, options)
    target = tmp_path / "out"
    write_predictions(target, examples.read(), examples=examples, format="same")
    assert target.read_text(encoding="utf-8") == content


def test_coreference_reads_back(tmp_path: Path) -> None:
    for number, content in enumerate((COREF, CONLL2012)):
        examples = examples_of(tmp_path, f"a{number}", content, "coref")
        target = tmp_path / f"out{number}.gz"
        write_predictions(target, examples, examples=examples, format="same")
        assert open_examples(target, task="coref").read() == examples.read()
        written = gzip.decompress(target.read_bytes()).decode()
        assert written.count("\n") == content.count("\n")
        assert ("\t_\n" in written, " -\n" in written) == (not number, bool(number))


def test_predictions_replace_the_answers(tmp_path: Path) -> None:
    target = tmp_path / "out"
    examples = examples_of(tmp_path, "a", "Ann\nleft\n", "ner", Options(labelled=False))
    write_predictions(target, [Tagged(("Ann", "left"), ("B-PER", "O"))], examples=examples, format="same")
    assert target.read_text() == "Ann B-PER\nleft O\n"

    examples = examples_of(tmp_path, "a.conllu", CONLLU, "tag", Options(column="feats:Number"))
    tagged = [replace(one, tags=("Plur",) * len(one.tokens)) for one in examples if isinstance(one, Tagged)]
    write_predictions(target, tagged, examples=examples, format="same")
    assert "\tCase=Nom|Number=Plur\t" in target.read_text()
    assert "2-3\tcan't\t_\t_\t_\t_" in target.read_text()
    assert open_examples(target, task="tag", options=examples.options).read() == tagged

    examples = examples_of(tmp_path, "up", UP, "roles", Options(spans="subtree"))
    roles = [one for one in examples if isinstance(one, Roles)]
    roles[1] = replace(roles[1], spans=(Span(0, 5, "ARG7"), Span(5, 6, "V")))
    write_predictions(target, roles, examples=examples, format="same")
    assert open_examples(target, task="roles", options=examples.options).read() == roles

    examples = examples_of(
        tmp_path, "my.csv", "text\nso good\n\n,\n".replace(",\n", ""), "classify", Options(labelled=False)
    )
    write_predictions(target, [Text(("so", "good"), "yes, very")], examples=examples, format="same")
    assert target.read_text() == 'text,label\nso good,"yes, very"\n'


def test_squad_gets_the_json_of_its_evaluation(tmp_path: Path) -> None:
    examples = examples_of(tmp_path, "a.json", SQUAD, "answer")
    predicted = [replace(one, answers=(Answer(0, "The"),)) for one in examples if isinstance(one, Question)]
    target = tmp_path / "out.json"
    write_predictions(target, predicted, examples=examples, format="same")
    assert json.loads(target.read_text()) == {"q1": "The", "q2": "The", "q3": "The"}


@pytest.mark.parametrize(
    ("name", "content", "task"),
    [
        ("a", CONLL, "ner"),
        ("a", SNLI, "entail"),
        ("a", SQUAD, "answer"),
        ("a", UP, "roles"),
        ("a", COREF, "coref"),
        ("a.tsv", TSV, "classify"),
    ],
)
def test_json_lines_hold_everything(tmp_path: Path, name: str, content: str, task: TaskName) -> None:
    examples = examples_of(tmp_path, name, content, task)
    target, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    write_predictions(target, examples)
    back = open_examples(target, task=task, segmentation=examples.segmentation)
    assert back.format == "jsonl"
    assert back.read() == examples.read()
    write_predictions(again, back, examples=back, format="same")
    assert again.read_bytes() == target.read_bytes()


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    conll = examples_of(tmp_path, "a", CONLL, "ner")
    snli = examples_of(tmp_path, "b", SNLI, "entail")
    coref = examples_of(tmp_path, "c", COREF, "coref")
    up = examples_of(tmp_path, "d", UP, "roles")
    tsv = examples_of(tmp_path, "e.tsv", TSV, "classify")
    target = tmp_path / "out"
    some = Tagged(("a",), ("O",))
    wrong: list[tuple[Examples | None, list[object], str]] = [
        (None, [], "the format 'same' needs the examples that were predicted for"),
        (snli, [], "b: the format snli has no place for predictions; choose jsonl"),
        (conll, [], "a:6: the sentence that ends here has 3 tokens, but the prediction is None; give the tags of each"),
        (conll, [some], "the sentence that ends here has 3 tokens, but the prediction is Tagged("),
        (conll, [*conll, some], "a: there are more predictions than examples; give one for each"),
        (coref, [Document("x", (("a",),), ())], "the document before it has 8 tokens, but the prediction is Document("),
        (
            up,
            [],
            "the sentence that ends here has 8 tokens, but the prediction is None; give the roles of each predicate",
        ),
        (tsv, [some], "e.tsv:2: the prediction is Tagged("),
    ]
    for examples, predictions, message in wrong:
        with pytest.raises(InputError) as raised:
            write_predictions(target, predictions, examples=examples, format="same")  # type: ignore[arg-type]
        assert message in str(raised.value)
        assert not target.exists()
    with pytest.raises(OutputError, match="could not be written"):
        write_predictions(tmp_path / "no" / "out", [])

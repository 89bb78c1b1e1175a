"""``polyseme task`` for tasks of two texts, as a person uses it."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Command, refused
from tasks.made import tagged
from tasks.made_pairs import pairs, questions

from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Example
from polyseme.tasks.task import Task
from polyseme.tasks.writers.writing import write_predictions

SMALL = ["--hidden-dim", 8, "--word-dim", 8, "--min-count", 1, "--epochs", 1, "--vectors", "none"]


def _trained(run: Command, task: TaskName, folder: Path, examples: Sequence[Example]) -> Path:
    write_predictions(folder / "train.jsonl", examples)
    done = run("task", "train", task, "--train", folder / "train.jsonl", "-o", folder / "model", *SMALL)
    assert done.code == 0, done.err
    return folder / "model"


@pytest.mark.parametrize("given", ["text", "file", "input"])
def test_a_question_about_a_passage(given: str, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _trained(run, "answer", tmp_path, questions(20))
    passage = "The cat is red .\nThe dog is blue ."
    (tmp_path / "passage.txt").write_text(passage, encoding="utf-8")
    second = {"text": passage, "file": tmp_path / "passage.txt", "input": "-"}[given]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(passage.encode()), encoding="utf-8"))
    found = run("task", "predict", model, "What colour is the dog ?", second)
    assert found.code == 0, found.err
    record = json.loads(found.out)
    (expected,) = Task.load(model).predict([("What colour is the dog ?", passage)])
    assert record == Task.load(model).blueprint.kind.to_dict(expected)
    (answer,) = record["answers"]
    assert passage[answer["start"] :].startswith(answer["text"])


def test_the_answers_of_a_file_are_what_the_scorer_of_squad_reads(run: Command, tmp_path: Path) -> None:
    model = _trained(run, "answer", tmp_path, questions(20))
    asked = [{"id": "a", "question": "What colour is the cat ?"}, {"id": "b", "question": "What colour ?"}]
    paragraphs = [{"context": "The cat is red .", "qas": asked}]
    file, output = tmp_path / "test.json", tmp_path / "answers.json"
    file.write_text(json.dumps({"version": "1.1", "data": [{"paragraphs": paragraphs}]}), encoding="utf-8")
    done = run("task", "predict", model, file, "--write", "same", "-o", output)
    assert done.code == 0, done.err
    assert json.loads(output.read_text(encoding="utf-8")).keys() == {"a", "b"}


def test_two_sentences(run: Command, tmp_path: Path) -> None:
    model = _trained(run, "entail", tmp_path, pairs(30))
    found = run("task", "predict", model, "the cat sleeps", "no cat sleeps")
    assert found.code == 0, found.err
    record = json.loads(found.out)
    assert record["hypothesis"] == ["no", "cat", "sleeps"]
    assert record["label"] in {"entailment", "contradiction", "neutral"}
    evaluated = run("task", "evaluate", model, tmp_path / "train.jsonl", "--json")
    assert json.loads(evaluated.out)["metric"] == "accuracy"
    refused(run("task", "predict", model, "a cat"), "the task entail needs two texts, a premise and a hypothesis")
    refused(run("task", "predict", model, "-", "-"), "standard input can give one of the two texts only")
    refused(run("task", "predict", model, "a cat", " "), "item 1: its hypothesis has no tokens; give some text")
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"\xff\xfe\xfa")
    refused(run("task", "predict", model, "a cat", broken), "broken.txt: could not be read as text")


def test_a_task_of_one_text_takes_no_second(run: Command, tmp_path: Path) -> None:
    model = _trained(run, "tag", tmp_path, tagged(20))
    refused(run("task", "predict", model, "Rome", "Paris"), "the task tag takes one text, but a second is given")

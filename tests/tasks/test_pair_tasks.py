"""The tasks of two texts learn small generated sets, and answer pairs of raw texts."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tasks.made_pairs import pairs, question_of, questions
from tiny import tiny_model

from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.progress import Figure, Watcher
from polyseme.tasks.data_files import ReadingChoices
from polyseme.tasks.error_report import evaluate
from polyseme.tasks.examples import Answer, Pair, Question
from polyseme.tasks.readers.opening import open_examples
from polyseme.tasks.task import Task

SMALL: dict[str, Any] = {
    "batch_size": 16,
    "hidden_dim": 24,
    "learning_rate": 5e-3,
    "min_count": 1,
    "word_dim": 24,
    "character_filters": 0,
    "casing_dim": 0,
    "warmup": 0,
    "dropout": 0.0,
    "decay": "none",
    "epochs": 18,
    "patience": 18,
}
COLOURS = "The cat is red . The dog is dark green ."


@pytest.fixture(scope="module")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny contextual model in a folder."""
    folder = tmp_path_factory.mktemp("models") / "bilm"
    native.write(tiny_model(), folder)
    return str(folder)


@pytest.fixture(scope="module")
def entailment(bilm: str, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Pairs learnt with two mixes of contextual vectors."""
    output = tmp_path_factory.mktemp("entail") / "model"
    return Task.train("entail", pairs(400), output, dev=pairs(60, seed=1), vectors=[bilm], **(SMALL | {"epochs": 9}))


@pytest.fixture(scope="module")
def answering(bilm: str, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Questions learnt with two mixes of contextual vectors."""
    output = tmp_path_factory.mktemp("answer") / "model"
    return Task.train("answer", questions(500), output, dev=questions(60, seed=1), vectors=[bilm], **SMALL)


def test_entailment_is_learnt(entailment: Task) -> None:
    assert entailment.evaluate(pairs(150, seed=2)).score >= 97
    assert [mix.output for mix in entailment.learned_mixes()] == ["input", "output"]


def test_answers_are_learnt(answering: Task) -> None:
    score = answering.evaluate(questions(100, seed=2))
    assert score.score >= 97
    assert score.details["exact_match"] >= 95  # type: ignore[operator]
    assert [mix.output for mix in answering.learned_mixes()] == ["input", "output"]


def test_words_alone_are_enough(tmp_path: Path) -> None:
    settings = SMALL | {"epochs": 9}
    task = Task.train("entail", pairs(400), tmp_path / "model", dev=pairs(60, seed=1), vectors=[], **settings)
    assert task.evaluate(pairs(100, seed=2)).score >= 97
    assert task.learned_mixes() == []


def test_pairs_of_raw_texts_are_answered(entailment: Task, answering: Task) -> None:
    texts = [("the cat sleeps the dog sleeps", "no dog sleeps"), ("the cat sleeps the dog sleeps", "a dog sleeps")]
    assert [one.label for one in entailment.predict(texts) if isinstance(one, Pair)] == ["contradiction", "entailment"]
    assert entailment.predict(texts[0]) == entailment.predict(texts)[:1]
    (answer,) = answering.predict([("What colour is the dog ?", COLOURS)])
    assert isinstance(answer, Question)
    assert answer.answers == (Answer(28, "dark green"),)
    assert answer.id == "1"
    assert answering.blueprint.kind.to_dict(answer) == {
        "id": "1",
        "question": "What colour is the dog ?",
        "passage": COLOURS,
        "answers": [{"start": 28, "text": "dark green"}],
    }


def test_the_answer_has_the_characters_of_the_passage(answering: Task) -> None:
    passage = "The cat is red .\n\nThe dog is dark  green ."
    (answer,) = answering.predict([("What colour is the dog ?", passage)])
    assert isinstance(answer, Question)
    assert answer.answers == (Answer(29, "dark  green"),)


@pytest.mark.parametrize("name", ["entailment", "answering"])
def test_an_example_alone_has_the_loss_it_has_in_a_batch(name: str, request: pytest.FixtureRequest) -> None:
    task: Task = request.getfixturevalue(name)
    test: Any = pairs(30, seed=3) if task.name == "entail" else [*questions(30, seed=3), _short()]
    alone = [task.losses([one])[0] for one in test]
    assert task.losses(test) == pytest.approx(alone, abs=1e-5)


def _short() -> Question:
    """A passage of a single token."""
    return question_of("short", "What colour ?", "red", (Answer(0, "red"),))


def test_a_passage_of_one_token_is_its_own_answer(answering: Task) -> None:
    (answer,) = answering.predict([_short()])
    assert isinstance(answer, Question)
    assert answer.answers == (Answer(0, "red"),)


@pytest.mark.parametrize("name", ["entailment", "answering"])
def test_a_saved_model_answers_alike_in_another_process(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    task: Task = request.getfixturevalue(name)
    test: Any = {"entail": pairs, "answer": questions}[task.name](20, seed=3)
    file = tmp_path / "test.jsonl"
    records = [task.blueprint.kind.to_dict(one) for one in test]
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    given = open_examples(file, task=task.name, segmentation=task.blueprint.segmentation).read()
    code = (
        "import sys, json; from pathlib import Path; from polyseme.tasks.task import Task\n"
        "from polyseme.tasks.readers.opening import open_examples\n"
        "task = Task.load(sys.argv[1]); path = Path(sys.argv[2])\n"
        "given = open_examples(path, task=task.name, segmentation=task.blueprint.segmentation).read()\n"
        "answers = [task.blueprint.kind.to_dict(one) for one in task.predict(path)]\n"
        "print(json.dumps([answers, [x.hex() for x in task.losses(given)]]))"
    )
    folder = request.getfixturevalue(name + "_folder")
    done = subprocess.run([sys.executable, "-c", code, folder, str(file)], capture_output=True, text=True, check=True)
    answers, losses = json.loads(done.stdout)
    assert losses == [loss.hex() for loss in task.losses(given)]
    assert answers == [task.blueprint.kind.to_dict(one) for one in task.predict(file)]


@pytest.fixture(scope="module")
def entailment_folder(entailment: Task, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the model was written."""
    del entailment
    return str(next(tmp_path_factory.getbasetemp().glob("entail*/model")))


@pytest.fixture(scope="module")
def answering_folder(answering: Task, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the model was written."""
    del answering
    return str(next(tmp_path_factory.getbasetemp().glob("answer*/model")))


class _Noting(Watcher):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[str, Figure] = {}

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        if what == "data":
            self.data.update(figures)


def test_long_passages_are_cut_for_learning_only(bilm: str, tmp_path: Path) -> None:
    training = [
        *questions(20),
        question_of("long", "What is new ?", " ".join(["old"] * 60) + " new", (Answer(240, "new"),)),
    ]
    told = _Noting()
    task = Task.train(
        "answer", training, tmp_path / "model", dev=questions(5), vectors=[bilm], max_passage=30,
        batch_tokens=64, watcher=told, **(SMALL | {"epochs": 1}),
    )  # fmt: skip
    assert told.data["passages cut to 30 tokens"] == 1
    (whole,) = task.predict(training[-1:])
    assert isinstance(whole, Question)
    assert len(whole.tokens) == 61


def test_odd_examples_are_answered_or_refused(entailment: Task, answering: Task, tmp_path: Path) -> None:
    empty = question_of("e", "", "red")
    (blank,) = answering.predict([empty])
    assert isinstance(blank, Question)
    assert blank.answers == (Answer(0, ""),)
    (pair,) = entailment.predict([Pair((), ("a",))])
    assert isinstance(pair, Pair)
    assert pair.label in {"entailment", "contradiction", "neutral"}
    with pytest.raises(InputError, match=r"^item 2: its question has no tokens; give some text$"):
        answering.predict([("Who?", COLOURS), ("  ", COLOURS)])
    with pytest.raises(
        InputError, match=r"^item 1 is \('a', 'b', 'c'\); give pairs of strings \(premise, hypothesis\)"
    ):
        entailment.predict([("a", "b", "c")])
    with pytest.raises(InputError, match="the task entail needs two texts, a premise and a hypothesis; give both"):
        entailment.predict("a cat sleeps")
    past = question_of("past", "What ?", "a cat", (Answer(2, "cat sleeps"),))
    with pytest.raises(
        InputError, match=r"^question past: its answer 'cat sleeps' at character 2 is not in its passage"
    ):
        Task.train("answer", [*questions(9), past], tmp_path / "other", dev=questions(5), vectors=[], epochs=1)
    with pytest.raises(InputError, match="1 of 10 questions have no label; give labelled questions"):
        Task.train("answer", [*questions(9), empty], tmp_path / "other", dev=questions(5), vectors=[], epochs=1)
    with pytest.raises(InputError, match="pair 1 has no label to learn or to compare with; give labelled pairs"):
        entailment.evaluate([Pair(("a",), ("b",))])
    table = tmp_path / "test.csv"
    table.write_text("premise,label\na cat,neutral\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"test\.csv:2: no column 'hypothesis'; there are 'premise', 'label'"):
        entailment.evaluate(table)


def test_an_answer_that_matches_any_reference_is_no_error(answering: Task, tmp_path: Path) -> None:
    def record(text: str) -> str:
        answers = [{"start": 11, "text": "red ."}, {"start": 4, "text": text}]
        return json.dumps({"question": "What colour is the cat ?", "passage": COLOURS, "answers": answers}) + "\n"

    file = tmp_path / "test.jsonl"
    file.write_text(record("cat") + record("cat is"), encoding="utf-8")  # "red ." is "red" without its mark
    found = evaluate(answering, file, ReadingChoices(), errors=5, watcher=Watcher())
    assert found.errors == []
    assert found.score.score == 100
    wrong = question_of("1", "What colour is the cat ?", COLOURS, (Answer(4, "cat"),))
    assert not answering.blueprint.kind.is_right(wrong, answering.predict([wrong])[0])
    assert answering.blueprint.kind.difference(wrong, answering.predict([wrong])[0]) == ("cat", "red")

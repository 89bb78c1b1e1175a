"""Coreference: what is learnt, and what becomes of odd documents."""

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tasks.made import documents
from tiny import tiny_model

from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.progress import Figure, Watcher
from polyseme.tasks.coref import Coref
from polyseme.tasks.examples import Document
from polyseme.tasks.task import Task

SMALL: dict[str, Any] = {
    "hidden_dim": 16,
    "learning_rate": 3e-3,
    "min_count": 1,
    "word_dim": 12,
    "character_filters": 8,
    "warmup": 0,
    "dropout": 0.1,
    "span_width": 4,
}


def _answers(task: Task, given: list[Document]) -> list[Document]:
    return [one for one in task.predict(given) if isinstance(one, Document)]


class _Told(Watcher):
    """Keeps what is told of the data."""

    def __init__(self) -> None:
        self.figures: dict[str, Figure] = {}

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        self.figures |= figures if what == "data" else {}


@pytest.fixture(scope="module")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny contextual model in a folder."""
    folder = tmp_path_factory.mktemp("models") / "bilm"
    native.write(tiny_model(), folder)
    return str(folder)


@pytest.fixture(scope="module")
def trained(bilm: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Task, Path]:
    """A model that has learnt names and pronouns, and its folder."""
    folder = tmp_path_factory.mktemp("coref") / "model"
    training = [*documents(100), Document("none", (), ())]
    return Task.train(
        "coref", training, folder, dev=documents(20, seed=1), vectors=[bilm], elmo_at="both", epochs=6, **SMALL
    ), folder


def test_names_and_pronouns_are_linked(trained: tuple[Task, Path]) -> None:
    assert trained[0].evaluate(documents(60, seed=2)).score > 95


def test_a_saved_model_answers_alike_in_another_process(trained: tuple[Task, Path]) -> None:
    task, folder = trained
    test = documents(12, seed=3)
    code = (
        "import sys, json; from polyseme.tasks.task import Task; from polyseme.tasks.examples import Document\n"
        "task = Task.load(sys.argv[1])\n"
        "def made(d): return Document(d[0], tuple(map(tuple, d[1])), tuple(tuple(map(tuple, c)) for c in d[2]))\n"
        "given = [made(d) for d in json.loads(sys.argv[2])]\n"
        "print(json.dumps([[one.clusters for one in task.predict(given)], [x.hex() for x in task.losses(given)]]))"
    )
    given = json.dumps([[one.id, one.sentences, one.clusters] for one in test])
    done = subprocess.run([sys.executable, "-c", code, str(folder), given], capture_output=True, text=True, check=True)
    clusters, losses = json.loads(done.stdout)
    assert losses == [loss.hex() for loss in task.losses(test)]
    assert clusters == json.loads(json.dumps([one.clusters for one in _answers(task, test)]))
    # A document alone has the answer and the loss that it has among others.
    assert [_answers(task, [one])[0] for one in test] == _answers(task, test)
    assert [task.losses([one])[0] for one in test] == pytest.approx(task.losses(test), abs=1e-4)


def test_mentions_of_an_answer_never_cross(trained: tuple[Task, Path]) -> None:
    for document in _answers(trained[0], documents(30, seed=5)):
        found = sorted(mention for cluster in document.clusters or () for mention in cluster)
        assert not [1 for one in found for two in found if one[0] < two[0] < one[1] < two[1]]


def test_odd_documents_are_answered_or_refused(trained: tuple[Task, Path]) -> None:
    task, _ = trained
    odd = [
        Document("empty", (), ()),
        Document("no tokens", ((),), ()),
        Document("one token", (("he",),), ()),
        Document("a gap", (("he", "sang"), (), ("he", "left")), (((0, 1), (2, 3)),)),
        Document("across", (("he", "sang"), ("he", "left")), (((0, 3), (3, 4)),)),
    ]
    found = _answers(task, odd)
    assert [one.clusters for one in found[:3]] == [(), (), ()]
    assert [one.sentences for one in found] == [one.sentences for one in odd]
    losses = task.losses(odd)
    assert losses[:2] == [0, 0]
    assert all(0 <= loss < 1e3 for loss in losses)
    assert task.evaluate([Document("none", (("he", "sang"),), ())]).n == 1
    with pytest.raises(InputError, match="example 1: the mention 1-3 is not within its 2 tokens; give the end behind"):
        task.evaluate([Document("d", (("he", "sang"),), (((0, 1), (1, 3)),))])
    with pytest.raises(InputError, match="example 1: the mention 0-1 is there twice; put it into one cluster"):
        task.evaluate([Document("d", (("he", "sang"),), (((0, 1),), ((0, 1),)))])


def test_a_span_learns_whether_it_is_a_mention(trained: tuple[Task, Path]) -> None:
    other, mention = trained[0].losses([Document("d", (("he",),), ()), Document("d", (("he",),), (((0, 1),),))])
    # A single span has no antecedent to learn from; the probabilities of the two answers are those of one question.
    assert math.exp(-other) + math.exp(-mention) == pytest.approx(1, abs=1e-6)
    assert mention < other


def test_raw_text_is_one_document(trained: tuple[Task, Path]) -> None:
    (answer,) = trained[0].predict("Then ms Chen sang. Then she left.")
    assert isinstance(answer, Document)
    assert len(answer.sentences) == 2


def test_long_documents_are_learnt_from_in_pieces_and_told(tmp_path: Path) -> None:
    told = _Told()
    long = Document("long", (("he", "sang"),) * 5, (((0, 1), (2, 3), (8, 9)), ((3, 5), (5, 6))))
    short = Document("short", (("he",),), ())
    settings = SMALL | {"document_sentences": 2, "span_width": 1}
    Task.train(
        "coref", [long, short], tmp_path / "m", dev=[short, long], vectors=[], epochs=1, watcher=told, **settings
    )
    shown = {name: told.figures[name] for name in ("training documents", "documents cut", "pieces")}
    assert shown == {"training documents": 2, "documents cut": 1, "pieces": 4}
    assert told.figures["mentions too long or across sentences"] == 1


def test_answers_are_told() -> None:
    kind = Coref()
    gold = Document("d", (("Ann", "sang"), ("she", "left")), (((0, 1), (2, 3)),))
    given = Document("d", gold.sentences, ())
    assert kind.difference(gold, given) == ("Ann = she", "none")
    assert kind.to_dict(gold) == {
        "id": "d",
        "sentences": [["Ann", "sang"], ["she", "left"]],
        "clusters": [[[0, 1], [2, 3]]],
    }

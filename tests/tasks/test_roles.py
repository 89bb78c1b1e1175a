"""Semantic roles: what is learnt, how it is decoded, and what is refused."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from tasks.made import roles
from tiny import tiny_model

from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.tasks.examples import Roles, Span
from polyseme.tasks.roles import RolesModel, SemanticRoles, apart
from polyseme.tasks.task import Task

SMALL: dict[str, Any] = {
    "batch_size": 8,
    "hidden_dim": 24,
    "learning_rate": 1e-2,
    "min_count": 1,
    "word_dim": 12,
    "character_filters": 12,
    "warmup": 0,
    "dropout": 0.1,
}


@pytest.fixture(scope="module")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny contextual model in a folder."""
    folder = tmp_path_factory.mktemp("models") / "bilm"
    native.write(tiny_model(), folder)
    return str(folder)


def _answers(task: Task, given: list[Roles]) -> list[Roles]:
    return [one for one in task.predict(given) if isinstance(one, Roles)]


@pytest.mark.parametrize("place", ["input", "both"])
def test_arguments_of_the_marked_predicate_are_learnt(place: str, bilm: str, tmp_path: Path) -> None:
    task = Task.train(
        "roles", roles(300), tmp_path / "model", dev=roles(50, seed=1), vectors=[bilm], elmo_at=place, epochs=5, **SMALL
    )
    test = roles(100, seed=2)
    score = task.evaluate(test)
    assert score.score > 98
    assert set(score.labels) == {"A0", "A1"}  # the predicate itself is not counted
    # The same words with another predicate marked have other arguments.
    sentence = ("Anna", "gives", "Rome", "Oslo", "Chen", "takes", "Paris", "Rome")
    first, second = _answers(task, [Roles(sentence, 1), Roles(sentence, 5)])
    assert Span(0, 1, "A0") in (first.spans or ())
    assert Span(6, 8, "A1") in (second.spans or ())


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A model that has hardly learnt, with continued arguments in its data."""
    training = [*roles(40), Roles(("a", "b", "c"), 1, (Span(0, 1, "A1"), Span(1, 2, "V"), Span(2, 3, "C-A1")))]
    folder = tmp_path_factory.mktemp("roles") / "model"
    return Task.train("roles", training, folder, dev=roles(5, seed=1), vectors=[], epochs=1, **SMALL)


def test_a_saved_model_answers_alike(trained: Task, tmp_path: Path) -> None:
    task = Task.train("roles", roles(40), tmp_path / "m", dev=roles(5, seed=1), vectors=[], epochs=1, **SMALL)
    again, test = Task.load(tmp_path / "m"), roles(30, seed=3)
    assert again.losses(test) == task.losses(test)
    assert again.predict(test) == task.predict(test)


def test_a_sentence_alone_has_the_loss_it_has_in_a_batch(trained: Task) -> None:
    test = roles(30, seed=3)
    assert trained.losses(test) == pytest.approx([trained.losses([one])[0] for one in test], abs=1e-5)


def test_every_answer_is_made_of_whole_spans(trained: Task) -> None:
    model = trained.model
    assert isinstance(model, RolesModel)
    with torch.no_grad():  # it would give I- tags everywhere, were they allowed
        kept = model.output.bias.clone()
        model.output.bias.add_(torch.tensor([9.0 if tag.startswith("I-") else 0.0 for tag in model.tags.labels]))
        answers = _answers(trained, roles(20, seed=4))
        model.output.bias.copy_(kept)
    for one in answers:
        spans = one.spans or ()
        assert spans
        assert all(before.end <= after.start for before, after in itertools.pairwise(spans))
        assert sum(span.end - span.start for span in spans) > len(spans)  # I- is there, behind its B-


def test_odd_examples_are_answered_or_refused(trained: Task) -> None:
    odd = [Roles((), 0, ()), Roles(("a",), 0, (Span(0, 1, "UNSEEN"),))]
    assert [len(one.tokens) for one in _answers(trained, odd)] == [0, 1]
    assert trained.losses(odd)[0] == 0
    assert SemanticRoles().unknown_labels(odd[1], trained.blueprint.tables) == {"UNSEEN"}
    with pytest.raises(InputError, match="example 1: the predicate is token 2, but the sentence has 2; count them"):
        trained.predict([Roles(("a", "b"), 2)])
    with pytest.raises(InputError, match="example 2: the span 1-9 is not within its 2 tokens"):
        trained.evaluate([odd[1], Roles(("a", "b"), 0, (Span(1, 9, "A0"),))])
    with pytest.raises(InputError, match="raw text has not all that the task roles needs; give a file of predicates"):
        trained.predict("Anna gives .")


def test_overlapping_arguments_are_learnt_as_the_first() -> None:
    assert apart([Span(1, 3, "A1"), Span(0, 2, "A0"), Span(2, 3, "A2")]) == [Span(0, 2, "A0"), Span(2, 3, "A2")]


def test_answers_are_told() -> None:
    kind, tokens = SemanticRoles(), ("Anna", "gives", "Rome")
    gold = Roles(tokens, 1, (Span(0, 1, "A0"), Span(1, 2, "V")))
    given = Roles(tokens, 1, (Span(1, 2, "V"), Span(1, 3, "A1")))
    assert kind.difference(gold, given) == ("A0: Anna", "A1: gives Rome")
    assert list(kind.compared(gold, gold)) == [("A0", "A0"), ("V", "V"), ("O", "O")]
    assert kind.to_dict(gold)["spans"] == [[0, 1, "A0"], [1, 2, "V"]]

"""Every task learns a small generated set, and a saved model answers as the trained one did."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tasks.made import entities, tagged, texts
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.embed.load import load
from polyseme.errors import FormatError, InputError
from polyseme.formats import native
from polyseme.tasks.examples import Tagged, Text
from polyseme.tasks.job import TaskJob
from polyseme.tasks.task import Task
from polyseme.tasks.tuned import TunedNetwork

SMALL: dict[str, Any] = {
    "batch_size": 8,
    "hidden_dim": 24,
    "learning_rate": 1e-2,
    "min_count": 1,
    "word_dim": 12,
    "character_filters": 12,
    "warmup": 0,
}


@pytest.fixture(scope="session")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny contextual model in a folder."""
    folder = tmp_path_factory.mktemp("models") / "bilm"
    native.write(tiny_model(), folder)
    return str(folder)


@pytest.fixture(scope="session")
def glove(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A few static vectors."""
    path = tmp_path_factory.mktemp("vectors") / "glove.txt"
    path.write_text("the 1 0 0\nriver 0 1 0\nplay 0 0 1\nrome 1 1 0\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("vectors", [(), ("bilm",), ("glove", "bilm")], ids=["none", "elmo", "both"])
@pytest.mark.parametrize("place", ["input", "both"])
def test_a_tagger_learns(vectors: tuple[str, ...], place: str, bilm: str, glove: str, tmp_path: Path) -> None:
    paths = [{"bilm": bilm, "glove": glove}[name] for name in vectors]
    task = Task.train(
        "tag", tagged(200), tmp_path / "model", dev=tagged(60, seed=1), vectors=paths, elmo_at=place, epochs=6, **SMALL
    )
    assert task.evaluate(tagged(100, seed=2)).score > 97


@pytest.mark.parametrize("bioes", [False, True])
def test_entities_are_learnt(bioes: bool, bilm: str, glove: str, tmp_path: Path) -> None:
    task = Task.train(
        "ner",
        entities(300, bioes=bioes),
        tmp_path / "model",
        dev=entities(50, seed=1, bioes=bioes),
        vectors=[glove, bilm],
        epochs=6,
        **(SMALL | {"dropout": 0.2}),
    )
    test = entities(100, seed=2, bioes=bioes)
    assert task.evaluate(test).score > 97
    found = [one for one in task.predict(test) if isinstance(one, Tagged)]
    parts = {tag[0] for one in found for tag in one.tags or ()}
    assert parts == (set("BIOES") if bioes else set("BIO"))  # written as the training data was


@pytest.mark.parametrize("model", ["mlp", "bcn"])
def test_texts_are_classified(model: str, bilm: str, tmp_path: Path) -> None:
    task = Task.train(
        "classify",
        texts(200),
        tmp_path / "model",
        dev=texts(60, seed=1),
        vectors=[bilm],
        elmo_at="both",
        model=model,
        epochs=8,
        **(SMALL | {"dropout": 0.1, "learning_rate": 5e-3}),
    )
    assert task.evaluate(texts(100, seed=2)).score >= 96
    (answer,) = task.predict("great film")
    assert isinstance(answer, Text)
    assert answer.label == "good"


def _train(output: Path, bilm: str, glove: str, **settings: Any) -> Task:
    options: dict[str, Any] = {"epochs": 2, "train_static": True, **SMALL, **settings}
    return Task.train("tag", tagged(80), output, dev=tagged(20, seed=1), vectors=[glove, bilm], **options)


def test_a_saved_model_answers_alike_in_another_process(bilm: str, glove: str, tmp_path: Path) -> None:
    task = _train(tmp_path / "model", bilm, glove)
    test = tagged(30, seed=3)
    code = (
        "import sys, json; from polyseme.tasks.task import Task; from polyseme.tasks.examples import Tagged\n"
        "task = Task.load(sys.argv[1]); given = [Tagged(tuple(t), tuple(g)) for t, g in json.loads(sys.argv[2])]\n"
        "print(json.dumps([[one.tags for one in task.predict(given)], [x.hex() for x in task.losses(given)]]))"
    )
    given = json.dumps([[one.tokens, one.tags] for one in test])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model"), given], capture_output=True, text=True, check=True
    )
    tags, losses = json.loads(done.stdout)
    assert losses == [loss.hex() for loss in task.losses(test)]
    assert [tuple(one) for one in tags] == [one.tags for one in task.predict(test) if isinstance(one, Tagged)]


def test_vectors_beyond_the_budget_are_computed_to_the_same_result(bilm: str, glove: str, tmp_path: Path) -> None:
    kept = _train(tmp_path / "kept", bilm, glove, cache_mib=64)
    computed = _train(tmp_path / "computed", bilm, glove, cache_mib=0)
    test = tagged(30, seed=3)
    assert kept.losses(test) == computed.losses(test)


def test_a_sentence_alone_has_the_loss_it_has_in_a_batch(bilm: str, glove: str, tmp_path: Path) -> None:
    test = tagged(30, seed=3)
    for task in (
        _train(tmp_path / "tag", bilm, glove, epochs=1),
        Task.train("ner", entities(40), tmp_path / "ner", vectors=[bilm], epochs=1, **SMALL),
        Task.train("classify", texts(40), tmp_path / "classify", vectors=[bilm], elmo_at="both", epochs=1, **SMALL),
    ):
        test = {"tag": tagged, "ner": entities, "classify": texts}[task.name](30, seed=3)  # type: ignore[assignment]
        alone = [task.losses([one])[0] for one in test]
        assert task.losses(test) == pytest.approx(alone, abs=1e-5)


def test_another_vector_source_is_refused(bilm: str, glove: str, tmp_path: Path) -> None:
    _train(tmp_path / "model", bilm, glove, epochs=1)
    other = tmp_path / "other.txt"
    other.write_text("the 1 0 1\nriver 0 1 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"was trained with the vectors .*glove\.txt .*but .*other\.txt holds others"):
        Task.load(tmp_path / "model", vectors=[other, bilm])
    with pytest.raises(InputError, match="has 2 vector sources, got 1"):
        Task.load(tmp_path / "model", vectors=[other])
    assert Task.load(tmp_path / "model", vectors=[glove, bilm]).name == "tag"


def test_a_damaged_folder_is_refused(bilm: str, glove: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    _train(folder, bilm, glove, epochs=1)
    labels = (folder / "labels.json").read_text(encoding="utf-8")
    (folder / "labels.json").write_text('{"labels": ["NOUN"]}', encoding="utf-8")
    with pytest.raises(FormatError, match=r"model\.safetensors: does not fit config\.json"):
        Task.load(folder)
    (folder / "labels.json").write_text('{"labels": [1]}', encoding="utf-8")
    with pytest.raises(FormatError, match=r"labels\.json: holds something else than lists of words"):
        Task.load(folder)
    (folder / "labels.json").write_text(labels, encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(FormatError, match=r"model\.safetensors: not a safetensors file"):
        Task.load(folder)
    with pytest.raises(InputError, match=r"no config\.json is there"):
        Task.load(tmp_path)


def test_odd_examples_are_answered_or_refused(bilm: str, tmp_path: Path) -> None:
    training = [*tagged(40), Tagged((), ())]
    task = Task.train("tag", training, tmp_path / "model", dev=[*tagged(9), Tagged((), ())], vectors=[bilm], epochs=1)
    odd = [Tagged((), ()), Tagged(("bank",), ("UNSEEN",)), Tagged(("",), ("NOUN",))]
    found = [one for one in task.predict(odd) if isinstance(one, Tagged)]
    assert [len(one.tags or ()) for one in found] == [0, 1, 1]
    assert task.evaluate(odd).labels["UNSEEN"].recall == 0
    assert task.losses(odd)[:2] == [0.0, 0.0]  # nothing to learn from
    with pytest.raises(InputError, match="example 1 is a Text, but the task tag has Tagged"):
        Task.train("tag", [Text(("a",), "b")], tmp_path / "other")
    with pytest.raises(InputError, match="1 of 40 sentences have no label; give labelled sentences"):
        Task.train("tag", [*tagged(39), Tagged(("a",))], tmp_path / "other", dev=tagged(9), vectors=[])
    with pytest.raises(InputError, match="the held-out data holds nothing"):
        Task.train("tag", tagged(39), tmp_path / "other", dev=[], vectors=[])
    with pytest.raises(InputError, match="unknown setting 'sizes'"):
        Task.train("tag", tagged(39), tmp_path / "other", sizes=1)
    with pytest.raises(InputError, match="would read nothing at its input"):
        Task.train(
            "tag", tagged(39), tmp_path / "other", vectors=[bilm], elmo_at="output", word_dim=0, casing_dim=0,
            character_filters=0,
        )  # fmt: skip


def test_the_bundled_model_is_chosen_by_language(tmp_path: Path) -> None:
    examples = [Text(("曹操", "来", "了"), "a"), Text(("刘备", "去", "了"), "b")] * 4
    task = Task.train("classify", examples, tmp_path / "model", epochs=1, model="mlp")
    assert repr(task) == "Task(classify, chinese-small)"
    assert task.blueprint.segmentation.tokenizer == "zh"
    source = load("english-small")
    assert isinstance(source, Embedder)


def test_a_tuned_network_is_saved_with_the_model(bilm: str, glove: str, tmp_path: Path) -> None:
    task = _train(tmp_path / "model", bilm, glove, fine_tune=True, epochs=3, fine_tune_rate=0.5)
    test = tagged(30, seed=3)
    again = Task.load(tmp_path / "model")
    assert again.losses(test) == task.losses(test)
    assert task.evaluate(test).score > 90
    before, after = load(bilm), load(tmp_path / "model" / "vectors1")  # for embed and index
    assert isinstance(before, Embedder)
    assert isinstance(after, Embedder)
    old, new = before.model.bilm.state_dict(), after.model.bilm.state_dict()
    changed = {name.rpartition(".")[0] for name in new if not torch.equal(old[name], new[name])}
    # From the top down; the best model came before the lower layer's turn. The token encoder stays as it is.
    assert changed == {f"encoder.{way}_layers.1" for way in ("forward", "backward")}
    moved = again.blueprint.sources[1].source.embed([["the", "river"]])[0]
    assert np.array_equal(moved, after.embed([["the", "river"]])[0])
    with pytest.raises(InputError, match="there are no contextual vectors to fine-tune"):
        Task.train("tag", tagged(20), tmp_path / "other", vectors=[glove], fine_tune=True)


@pytest.mark.parametrize("fine_tune", [False, True])
def test_an_interrupted_run_is_resumed_to_the_same_weights(
    fine_tune: bool, bilm: str, glove: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"epochs": 3, "fine_tune": fine_tune, "checkpoint_every": 1e-6}
    whole = _train(tmp_path / "whole", bilm, glove, **settings)
    loss = TaskJob.loss
    calls = iter(range(17))

    def interrupted(job: Any, batch: Any) -> Any:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return loss(job, batch)

    monkeypatch.setattr(TaskJob, "loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _train(tmp_path / "parts", bilm, glove, **settings)
    monkeypatch.setattr(TaskJob, "loss", loss)
    parts = _train(tmp_path / "parts", bilm, glove, resume=True, **settings)
    one, other = whole.model.state_dict(), parts.model.state_dict()
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    assert not (tmp_path / "parts.training").exists()


def test_a_network_that_learns_gives_the_layers_of_its_source(bilm: str) -> None:
    source = load(bilm)
    assert isinstance(source, Embedder)
    network = TunedNetwork(source.model)
    sentences = [["the", "river", "bank"], ["play"], ["the", "bank"]]
    ids = torch.from_numpy(source.model.indexer.ids(["the", "river", "bank", "play"]))
    layers = network(ids, torch.tensor([0, 1, 2, 3, 0, 2]), [3, 1, 2])
    expected = np.concatenate(source.embed(sentences), axis=1)  # (L, N, D)
    assert torch.stack(layers).detach().numpy() == pytest.approx(expected, abs=1e-5)
    for count, learning in ((0, set()), (1, {1}), (2, {0, 1}), (3, {0, 1})):
        network.unfreeze(count)
        found = {name.split(".")[3] for name, one in network.named_parameters() if one.requires_grad}
        assert found == {str(layer) for layer in learning}

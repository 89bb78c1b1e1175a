"""ELMoForManyLangs' `Embedder`, against arrays made by running ELMoForManyLangs itself."""

import inspect
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import GOLDEN, arrays

from polyseme.compat.many_langs import Embedder
from polyseme.errors import InputError
from polyseme.formats.detect import open_model
from polyseme.nn.packing import Packing

MODELS = ("words_and_characters", "characters")
FOLDER = GOLDEN / "many_langs"
SENTENCES: list[list[str]] = json.loads((FOLDER / "sentences.json").read_text(encoding="utf-8"))
TOLERANCE = 1e-5


def agree(got: list[Any], expected: list[Any]) -> None:
    assert len(got) == len(expected)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.dtype == np.float32
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, atol=TOLERANCE, rtol=0)


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_sentences_hold_every_difficulty() -> None:
    tokens = [token for sentence in SENTENCES for token in sentence]
    assert {"\u3000", "\u00a0", "", " ", "👍", "<bos>", "<pad>", "银行"} <= set(tokens)
    assert max(map(len, tokens)) > 50  # cut in either model
    assert {0, 1} <= set(map(len, SENTENCES))
    words = (FOLDER / "words_and_characters" / "word.dic").read_text(encoding="utf-8")
    assert "quoted\t" not in words


def test_sentences_alone_and_together(name: str) -> None:
    reference = arrays(f"many_langs/{name}.npz")
    embedder = Embedder(FOLDER / name)
    alone = [reference[f"stateless/sentence{i}/layers"] for i in range(len(SENTENCES))]
    agree([embedder.sents2elmo([sentence], -2)[0] for sentence in SENTENCES], alone)
    agree(embedder.sents2elmo(SENTENCES, -2), alone)
    agree(embedder.sents2elmo(SENTENCES[::-1], output_layer=-2), alone[::-1])
    agree(embedder.sents2elmo(SENTENCES, -2), [reference[f"one_batch/sentence{i}/layers"] for i in range(len(alone))])


@pytest.mark.parametrize(("output_layer", "key"), [(-1, "mean"), (0, "layer0"), (1, "layer1"), (2, "layer2")])
def test_one_layer_or_their_mean(name: str, output_layer: int, key: str) -> None:
    reference = arrays(f"many_langs/{name}.npz")
    embedder = Embedder(FOLDER / name)
    expected = [reference[f"stateless/sentence{i}/{key}"] for i in (0, 5)]
    agree(embedder.sents2elmo([SENTENCES[0], SENTENCES[5]], output_layer), expected)
    layers = [reference[f"stateless/sentence{i}/layers"] for i in range(len(SENTENCES))]
    reduced = [each.mean(axis=0) if key == "mean" else each[output_layer] for each in layers]
    agree(embedder.sents2elmo(SENTENCES, output_layer), reduced)
    stateful = Embedder(FOLDER / name, stateful=True)
    agree(stateful.sents2elmo(SENTENCES, output_layer), reduced)  # one batch, so nothing is carried yet


def test_stateful_gives_what_the_original_gives_after_the_same_seed(name: str) -> None:
    reference = arrays(f"many_langs/{name}.npz")
    embedder = Embedder(FOLDER / name, batch_size=3, stateful=True)
    random.seed(5)
    for call in range(5):
        chosen = reference[f"stateful/call{call}/sentences"]
        expected = [reference[f"stateful/call{call}/sentence{i}/layers"] for i in range(len(chosen))]
        agree(embedder.sents2elmo([SENTENCES[i] for i in chosen], -2), expected)
    first, last = (reference[f"stateful/call{call}/sentence0/layers"] for call in (0, 4))
    assert np.abs(first - last).max() > 0.1  # the same sentence: the test would be idle without state


def test_stateful_moves_on_over_a_sentence_without_tokens() -> None:
    embedder = Embedder(FOLDER / "characters", stateful=True)
    assert embedder.sents2elmo([[]], -2)[0].shape == (3, 0, 12)
    [carried] = embedder.sents2elmo([["river"]], -2)
    # Read forward, the two sentences are one text: begin, end, begin, river, end.
    model = open_model(FOLDER / "characters")
    ids = np.concatenate([model.indexer.boundaries, model.indexer.boundaries[:1], model.indexer.ids(["river"])])
    layers, _ = model.bilm.contextualise(model.bilm.encode_words(torch.from_numpy(ids)), Packing.of([4]))
    forward = torch.stack(layers)[:, 3, :6]
    np.testing.assert_allclose(carried[:, 0, :6], forward, atol=TOLERANCE, rtol=0)
    [fresh] = Embedder(FOLDER / "characters").sents2elmo([["river"]], -2)
    assert np.abs(carried - fresh).max() > 0.01


def test_stateless_is_the_same_every_time_and_leaves_chance_alone() -> None:
    embedder = Embedder(FOLDER / "characters", 2)
    before = random.getstate()
    first, second = embedder.sents2elmo(SENTENCES), embedder.sents2elmo(iter(SENTENCES))
    assert random.getstate() == before
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("stateful", [False, True])
def test_nothing_in_nothing_out(stateful: bool) -> None:
    embedder = Embedder(FOLDER / "characters", stateful=stateful)
    assert embedder.sents2elmo([]) == []
    assert embedder.sents2elmo([[]])[0].shape == (0, 12)


def test_what_programs_look_at(tmp_path: Path) -> None:
    assert str(inspect.signature(Embedder.sents2elmo)).startswith("(self, sents")
    assert list(inspect.signature(Embedder).parameters) == ["model_dir", "batch_size", "stateful"]
    embedder = Embedder(str(FOLDER / "characters"))
    assert embedder.model_dir == str(FOLDER / "characters")
    assert embedder.batch_size == 64
    encoder = embedder.config["encoder"]
    assert isinstance(encoder, dict)
    assert encoder["projection_dim"] == 6


@pytest.mark.parametrize("stateful", [False, True])
def test_what_is_refused(stateful: bool) -> None:
    with pytest.raises(InputError, match=r"^batch_size is 0, expected at least 1$"):
        Embedder(FOLDER / "characters", 0, stateful=stateful)
    embedder = Embedder(FOLDER / "characters", stateful=stateful)
    for layer in (3, -3):
        with pytest.raises(InputError, match=rf"^output_layer is {layer}, expected 0 to 2 for one layer, -1 for the"):
            embedder.sents2elmo([["a"]], layer)
    with pytest.raises(InputError, match=r"sentence 0 is the string '今天', not a list of tokens"):
        embedder.sents2elmo(["今天"])
    with pytest.raises(InputError, match=r"no such file or folder"):
        Embedder("nowhere.model", stateful=stateful)

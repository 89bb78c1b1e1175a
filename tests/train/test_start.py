"""Going on from weights of any format."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from chains import MINI, Chain, write
from conftest import GOLDEN

from polyseme.errors import InputError
from polyseme.formats import bilm_hdf5
from polyseme.formats.detect import open_model
from polyseme.progress import Figure, Watcher
from polyseme.train.lm.run import train

LEARN: dict[str, Any] = {
    "preset": "tiny",
    "precision": "float32",
    "min_count": 1,
    "epochs": 1,
    "batch_tokens": 256,
    "learning_rate": 0.005,
}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write(tmp_path / "text.txt", Chain().sentences(150, seed=1))


@pytest.mark.parametrize("source", ["allennlp/two_layers", "many_langs/words_and_characters"])
def test_foreign_weights_get_a_fresh_softmax_and_learn(source: str, text: Path, tmp_path: Path) -> None:
    start = open_model(GOLDEN / source)
    train([text], tmp_path / "model", start=GOLDEN / source, **LEARN)
    trained = open_model(tmp_path / "model")
    assert trained.vocabulary is not None
    assert len(trained.vocabulary) == 13
    changed = [
        name
        for name, tensor in start.bilm.state_dict().items()
        if not name.startswith("softmax") and not torch.equal(tensor, trained.bilm.state_dict()[name])
    ]
    assert any(name.startswith("token_encoder.") for name in changed)
    assert any(name.startswith("encoder.backward_layers.1.") for name in changed)


@pytest.mark.parametrize(
    ("freeze", "stays", "learns"),
    [
        ("tokens", ("token_encoder.",), ("encoder.forward_layers.0.", "softmax.")),
        ("layers", ("token_encoder.", "encoder.forward_layers.0."), ("encoder.backward_layers.1.", "softmax.")),
        ("encoder", ("token_encoder.", "encoder."), ("softmax.",)),
    ],
)
def test_frozen_parts_stay(
    freeze: str, stays: tuple[str, ...], learns: tuple[str, ...], text: Path, tmp_path: Path
) -> None:
    train([text], tmp_path / "first", **MINI | {"layers": 2, "epochs": 1})
    before = open_model(tmp_path / "first").bilm.state_dict()
    train([text], tmp_path / "second", start=tmp_path / "first", freeze=freeze, **LEARN)
    after = open_model(tmp_path / "second").bilm.state_dict()
    for name, tensor in before.items():
        if name.startswith(stays):
            assert torch.equal(tensor, after[name]), name
    for part in learns:
        assert any(not torch.equal(t, after[n]) for n, t in before.items() if n.startswith(part)), part


def test_a_trained_model_goes_back_to_hdf5(text: Path, tmp_path: Path) -> None:
    train([text], tmp_path / "model", start=GOLDEN / "allennlp" / "two_layers", **LEARN)
    model = open_model(tmp_path / "model")
    bilm_hdf5.write(model, tmp_path / "hdf5")
    back = open_model(tmp_path / "hdf5")
    for name, tensor in model.bilm.state_dict().items():
        assert torch.equal(tensor, back.bilm.state_dict()[name]) or name == "token_encoder.characters.embedding.weight"
    assert back.vocabulary is not None
    assert model.vocabulary is not None
    assert back.vocabulary.words == model.vocabulary.words


def test_sizes_are_settled_by_the_model_to_go_on_from(text: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^hidden_dim is fixed by the model .*two_layers that training starts from"):
        train([text], tmp_path / "model", start=GOLDEN / "allennlp" / "two_layers", hidden_dim=3)
    assert not (tmp_path / "model.training").exists()


def test_options_with_weights_stay_a_pair_through_a_resume(text: Path, tmp_path: Path) -> None:
    folder = GOLDEN / "allennlp" / "two_layers"
    pair = folder / "options.json", str(folder / "weights.hdf5")
    with pytest.raises(InputError, match=r"^layers is fixed by the model .*options.json and .*weights.hdf5 that"):
        train(text, tmp_path / "model", start=pair, layers=1)
    with pytest.raises(InputError, match=r"^got 3 paths, expected \(options, weights\) or CoVe"):
        train(text, tmp_path / "model", start=(*pair, "more"))  # type: ignore[arg-type]
    settings = {**LEARN, "epochs": 2}

    class _Cut(Watcher):
        def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
            if "update" in figures:
                raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        train(text, tmp_path / "model", start=pair, watcher=_Cut(), **settings)
    with pytest.raises(InputError, match=r"this run was begun with start \['.*', '.*'\], not '.*two_layers'; resume"):
        train(text, tmp_path / "model", start=folder, resume=True)
    assert train(text, tmp_path / "model", start=pair, resume=True).finished
    train(text, tmp_path / "other", start=folder, **settings)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "other")]
    assert weights[0] == weights[1]


def test_a_softmax_that_does_not_fit_the_start_is_refused_before_the_text_is_read(text: Path, tmp_path: Path) -> None:
    train(text, tmp_path / "first", **MINI | {"epochs": 1})

    class _Counts(Watcher):
        def begin(self, stage: str) -> None:
            raise AssertionError("the text was read")

    begin = partial(train, text, tmp_path / "second", watcher=_Counts(), **LEARN)
    with pytest.raises(InputError, match=r"^samples is 2,048 but the vocabulary has 13 words"):
        begin(start=tmp_path / "first", softmax="sampled")
    with pytest.raises(
        InputError, match=r"^softmax 'adaptive' was asked for, but the model to start from has a full softmax"
    ):
        begin(start=tmp_path / "first", softmax="adaptive", cutoffs=(4,))
    train(text, tmp_path / "clusters", **MINI | {"epochs": 1, "softmax": "adaptive", "cutoffs": (4,)})
    with pytest.raises(InputError, match=r"from has an adaptive softmax, which is trained further; leave out"):
        begin(start=tmp_path / "clusters", softmax="full")
    assert not (tmp_path / "second.training").exists()


def test_only_lstms_with_a_full_softmax_can_be_hdf5(text: Path, tmp_path: Path) -> None:
    train([text], tmp_path / "gru", **MINI | {"encoder": "gru", "epochs": 1})
    with pytest.raises(InputError, match=r"HDF5 readers know LSTMs with a full softmax, not a gru encoder"):
        bilm_hdf5.write(open_model(tmp_path / "gru"), tmp_path / "out")

"""`Elmo` for models of every kind, opened by name, and saved with what it learnt."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import GOLDEN, arrays, batches
from safetensors.torch import load_file, save_file
from tiny import tiny_model, tiny_word_model

import polyseme
from polyseme import Elmo, ScalarMix, batch_to_ids
from polyseme.errors import FormatError, InputError
from polyseme.formats import native
from polyseme.formats.detect import open_model

BYTES = GOLDEN / "allennlp" / "two_layers"
MANY = GOLDEN / "many_langs"
MANY_SENTENCES: list[list[str]] = json.loads((MANY / "sentences.json").read_text(encoding="utf-8"))


def mix(elmo: Elmo, number: int) -> ScalarMix:
    """The mix of an output, by the name it has among the submodules."""
    found = elmo.get_submodule(f"scalar_mix_{number}")
    assert isinstance(found, ScalarMix)
    return found


@pytest.mark.parametrize("name", ["words_and_characters", "characters"])
def test_a_model_of_unicode_characters_agrees_with_its_own_software(name: str) -> None:
    reference = arrays(f"many_langs/{name}.npz")
    elmo = Elmo(MANY / name, dropout=0)
    output = elmo(elmo.ids(MANY_SENTENCES))
    assert output["mask"].sum(dim=1).tolist() == list(map(len, MANY_SENTENCES))
    for number, sentence in enumerate(MANY_SENTENCES):
        found = output["elmo_representations"][0][number]
        wanted = reference[f"stateless/sentence{number}/layers"].mean(axis=0)  # a new mix is the mean
        np.testing.assert_allclose(found[: len(sentence)].detach(), wanted, atol=1e-5, rtol=0)
        assert not found[len(sentence) :].any()


def test_an_id_of_zero_is_no_padding() -> None:
    """In a model of whole words the row of zeros is a word."""
    model = tiny_word_model()
    elmo = Elmo(model, dropout=0)
    ids = elmo.ids([["<S>", "the"], ["bank"]])
    assert ids[:, :, 0].tolist() == [[0, 3], [5, -1]]
    output = elmo(ids)
    assert output["mask"].tolist() == [[True, True], [True, False]]
    wanted = polyseme.Embedder(model).embed([["<S>", "the"]], layers="mean")[0]
    torch.testing.assert_close(output["elmo_representations"][0][0].detach(), torch.from_numpy(wanted))


@pytest.mark.parametrize("name", ["english-small", "chinese-small"])
def test_a_bundled_model_by_name(name: str) -> None:
    sentences = [["他", "去", "银行", "了"], ["好"], ["The", "bank", "of", "the", "river"]]
    elmo = polyseme.Elmo(name, dropout=0)
    output = elmo(elmo.ids(sentences))
    assert output["mask"].sum(dim=1).tolist() == [4, 1, 5]
    for found, wanted in zip(
        output["elmo_representations"][0], polyseme.load(name).embed(sentences, layers="mean"), strict=True
    ):
        np.testing.assert_allclose(found[: len(wanted)].detach(), wanted, atol=1e-5, rtol=0)


def test_ids_of_a_model_of_bytes_are_those_of_batch_to_ids() -> None:
    elmo = Elmo(BYTES)
    for batch in batches():
        assert torch.equal(elmo.ids(batch), batch_to_ids(batch))
    with pytest.raises(InputError, match=r"sentence 0 is the string 'bank', not a list of tokens"):
        elmo.ids(["bank"])


def test_an_opened_model_is_used_and_not_copied() -> None:
    model = tiny_model()
    elmo = Elmo(model, requires_grad=True)
    assert elmo.encoder.network.token_encoder is model.network.token_encoder
    with pytest.raises(InputError, match=r"^weights\.hdf5: got a model and a weight_file; give one of them"):
        Elmo(model, "weights.hdf5")
    with pytest.raises(InputError, match=r"^weight_file is 2, expected a path; the number of mixes is num_output_rep"):
        Elmo("english-small", 2)  # type: ignore[arg-type]


SCRIPT = """
import sys
import numpy as np
import polyseme
folder, out = sys.argv[1:]
sentences = [["the", "river", "bank"], ["银行"], [], ["a", "play"]]
elmo = polyseme.Elmo(folder, dropout=0)
output = elmo(elmo.ids(sentences))
arrays = {str(k): one.detach().numpy() for k, one in enumerate(output["elmo_representations"])}
layers = polyseme.load(folder).embed(sentences)
np.savez(out, **arrays, **{f"layers{k}": one for k, one in enumerate(layers)})
"""
SENTENCES = [["the", "river", "bank"], ["银行"], [], ["a", "play"]]


@pytest.mark.parametrize("source", [BYTES, MANY / "words_and_characters"])
def test_fine_tuned_saved_and_loaded_by_another_process(source: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    elmo = Elmo(source, None, 2, requires_grad=True, do_layer_norm=True, dropout=0)
    ids = elmo.ids(SENTENCES)
    before = [one.detach() for one in elmo(ids)["elmo_representations"]]
    optimizer = torch.optim.Adam(elmo.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        first, second = elmo(ids)["elmo_representations"]
        (first.square().sum() + (second - 1).square().sum()).backward()
        optimizer.step()
    tuned = [one.detach().numpy() for one in elmo(ids)["elmo_representations"]]
    assert all(np.abs(now - then.numpy()).max() > 0.1 for now, then in zip(tuned, before, strict=True))

    elmo.save(tmp_path / "tuned")
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path / "tuned"), str(tmp_path / "out.npz")], check=True)
    with np.load(tmp_path / "out.npz") as found:
        for number, wanted in enumerate(tuned):
            np.testing.assert_allclose(found[str(number)], wanted, atol=1e-5, rtol=0)
        layers = elmo.encoder(ids).layers
        for number, sentence in enumerate(SENTENCES):
            for layer, wanted in enumerate(layers):
                row = wanted[number, 1 : 1 + len(sentence)].detach()
                np.testing.assert_allclose(found[f"layers{number}"][layer], row, atol=1e-5, rtol=0)


def test_the_folder_is_a_whole_model(tmp_path: Path) -> None:
    model = tiny_model()
    elmo = Elmo(model, None, 2)
    mix(elmo, 1).weights.data.copy_(torch.tensor([0.5, -1.0, 2.0]))
    mix(elmo, 1).gamma.data.fill_(3.0)
    elmo.save(tmp_path / "first")
    again = open_model(tmp_path / "first")
    assert again.fingerprint() == model.fingerprint()
    assert not again.predicts_words  # the softmax was trained for the biLM as it was
    assert [mix.weights.tolist() for mix in again.mixes] == [[0.0, 0.0, 0.0], [0.5, -1.0, 2.0]]
    assert [mix.gamma.item() for mix in again.mixes] == [1.0, 3.0]
    native.write(again, tmp_path / "second")  # converting keeps the mixes
    assert mix(Elmo(tmp_path / "second"), 1).weights.tolist() == [0.5, -1.0, 2.0]
    mixed = polyseme.load(tmp_path / "second").embed([["the", "bank"]], layers=again.mixes[1])[0]
    output = Elmo(tmp_path / "second", dropout=0)(batch_to_ids([["the", "bank"]]))["elmo_representations"][1][0]
    np.testing.assert_allclose(mixed, output.detach(), atol=1e-5, rtol=0)
    fixed = Elmo(tmp_path / "second", num_output_representations=1, scalar_mix_parameters=[1.0, 2.0, 3.0])
    assert mix(fixed, 0).weights.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(InputError, match=r"second: 2 mixes were saved with it, but num_output_representations is 1"):
        Elmo(tmp_path / "second", None, 1)
    with pytest.raises(InputError, match=r"first: exists already; give the name of a new folder"):
        elmo.save(tmp_path / "first")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"0.weights": torch.zeros(2)}, r"mix 0 has weights \(2,\) and gamma \(1,\), expected \(3,\) and \(1,\)"),
        ({"0.gamma": torch.tensor([float("nan")])}, r"mix 0 holds NaN or infinity"),
        ({"1.weights": torch.zeros(3)}, r"holds 0\.gamma, .*; expected weights, gamma and layer_norm of each mix"),
        (None, r"not a safetensors file, or a truncated one"),
    ],
)
def test_damaged_mixes(change: dict[str, Any] | None, message: str, tmp_path: Path) -> None:
    Elmo(tiny_model()).save(tmp_path / "model")
    path = tmp_path / "model" / "mixes.safetensors"
    if change is None:
        path.write_bytes(path.read_bytes()[:20])
    else:
        save_file(load_file(path) | change, path)
    with pytest.raises(FormatError, match=r"mixes\.safetensors: " + message):
        open_model(tmp_path / "model")


def test_a_state_under_the_names_of_version_0_1() -> None:
    """They were ``_elmo_lstm.bilm`` and ``_elmo_lstm._cached``."""
    elmo = Elmo(BYTES, vocab_to_cache=["", "the"])
    state = {
        name.replace("encoder.network.", "_elmo_lstm.bilm.", 1).replace("encoder.cached", "_elmo_lstm._cached"): tensor
        for name, tensor in elmo.state_dict().items()
    }
    assert "_elmo_lstm.bilm.encoder.forward_layers.0.bias" in state
    assert "_elmo_lstm._cached.weight" in state
    other = Elmo(BYTES, vocab_to_cache=["", "a"])
    for parameter in other.parameters():
        parameter.data.fill_(0.5)
    other.load_state_dict(state)
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, elmo.state_dict()[name]), name


def test_the_bilm_by_allennlps_interface() -> None:
    elmo = Elmo(BYTES, dropout=0)
    inner = elmo._elmo_lstm
    assert (inner.num_layers, inner.get_output_dim()) == (3, 16)
    output = inner(batch_to_ids([["The", "bank"]]))
    assert [tuple(one.shape) for one in output["activations"]] == [(1, 4, 16)] * 3
    inner.create_cached_cnn_embeddings(["", "The"])
    assert elmo.encoder.cached is not None

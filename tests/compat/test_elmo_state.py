"""States that AllenNLP's `Elmo` saved are loaded, names and all."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import GOLDEN, arrays, batches
from torch import Tensor, nn

from polyseme.compat.allennlp import Elmo, ScalarMix, batch_to_ids
from polyseme.formats import native
from polyseme.formats.detect import open_model

MODEL = GOLDEN / "allennlp" / "two_layers"
FILES = (MODEL / "options.json", MODEL / "weights.hdf5")


def allennlp_state(prefix: str = "") -> dict[str, Tensor]:
    """The golden weights by the names and in the layouts of AllenNLP 2.10.1's modules."""
    state: dict[str, Any] = {}
    with h5py.File(FILES[1]) as file:
        tokens = "_elmo_lstm._token_embedder."
        state[f"{tokens}_char_embedding_weights"] = np.vstack([np.zeros((1, 4)), file["char_embed"][...]])
        for number in range(4):
            state[f"{tokens}char_conv_{number}.weight"] = file[f"CNN/W_cnn_{number}"][0].transpose(2, 1, 0)
            state[f"{tokens}char_conv_{number}.bias"] = file[f"CNN/b_cnn_{number}"][...]
        for number in range(2):
            stored, name = file[f"CNN_high_{number}"], f"{tokens}_highways._layers.{number}."
            state[f"{name}weight"] = np.vstack([stored["W_transform"][...].T, -stored["W_carry"][...].T])
            state[f"{name}bias"] = np.concatenate([stored["b_transform"][...], -stored["b_carry"][...]])
        state[f"{tokens}_projection.weight"] = file["CNN_proj/W_proj"][...].T
        state[f"{tokens}_projection.bias"] = file["CNN_proj/b_proj"][...]
        for layer in range(2):
            for number, direction in enumerate(("forward", "backward")):
                stored = file[f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"]
                name = f"_elmo_lstm._elmo_lstm.{direction}_layer_{layer}."
                gates = [0, 2, 1, 3]  # the file has the candidate before the forget gate
                kernel = stored["W_0"][...].T.reshape(4, 16, 16)[gates].reshape(64, 16)
                bias = stored["B"][...].reshape(4, 16)[gates]
                bias[1] += 1
                state[f"{name}input_linearity.weight"] = kernel[:, :8]
                state[f"{name}state_linearity.weight"] = kernel[:, 8:]
                state[f"{name}state_linearity.bias"] = bias.reshape(-1)
                state[f"{name}state_projection.weight"] = stored["W_P_0"][...].T
    golden = arrays("allennlp/elmo.npz")
    mixes = ([0.0, 0.0, 0.0], 1.0), (golden["elmo/mix1/weights"], golden["elmo/mix1/gamma"])
    for number, (weights, gamma) in enumerate(mixes):
        state[f"scalar_mix_{number}.gamma"] = [gamma]
        for layer, weight in enumerate(weights):
            state[f"scalar_mix_{number}.scalar_parameters.{layer}"] = [weight]
    return {prefix + name: torch.tensor(np.asarray(array, dtype=np.float32)) for name, array in state.items()}


def scrambled(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.data.normal_()


def agrees(elmo: Elmo) -> None:
    """With what AllenNLP computed from these weights and mixes."""
    golden = arrays("allennlp/elmo.npz")
    for number, found in enumerate(elmo(batch_to_ids(batches()[0]))["elmo_representations"]):
        wanted = golden[f"elmo/plain/batch0/representation{number}"]
        np.testing.assert_allclose(found.detach(), wanted, atol=1e-5, rtol=0)


def test_mixes_and_weights_are_taken_over() -> None:
    elmo = Elmo(*FILES, 2, dropout=0)
    scrambled(elmo)
    elmo.load_state_dict(allennlp_state())
    agrees(elmo)
    again = Elmo(*FILES, 2, dropout=0)
    again.load_state_dict(elmo.state_dict())  # and our own names as ever
    agrees(again)


def test_within_a_task_model() -> None:
    task = nn.ModuleDict({"elmo": Elmo(*FILES, 2, dropout=0), "tags": nn.Linear(16, 3)})
    scrambled(task)
    state = allennlp_state("elmo.") | {"tags.weight": torch.ones(3, 16), "tags.bias": torch.zeros(3)}
    names = set(state)
    task.load_state_dict(state)
    assert set(state) == names  # the caller's own stays as it was
    elmo = task["elmo"]
    assert isinstance(elmo, Elmo)
    agrees(elmo)


def test_cached_words_are_taken_over() -> None:
    state = allennlp_state() | {"_elmo_lstm._word_embedding.weight": torch.full((2, 8), 0.25)}
    elmo = Elmo(*FILES, 2, dropout=0, vocab_to_cache=["", "The"])
    elmo.load_state_dict(state)
    token = elmo._elmo_lstm(torch.zeros(1, 1, 50), torch.ones(1, 1, dtype=torch.long))["activations"][0][0, 1]
    assert torch.equal(token, torch.full((16,), 0.25))
    with pytest.raises(RuntimeError, match="Unexpected key"):
        Elmo(*FILES, 2).load_state_dict(state)


def test_a_softmax_is_left_out(tmp_path: Path) -> None:
    """It would be a parameter that never gets a gradient, which distributed training refuses."""
    model = open_model(GOLDEN / "tf_checkpoint" / "model")
    assert model.bilm.softmax is not None
    native.write(model, tmp_path / "model")
    elmo = Elmo(None, tmp_path / "model", 1, requires_grad=True)
    elmo(batch_to_ids([["The", "river", "bank"], ["Yes"]]))["elmo_representations"][0].sum().backward()
    assert [name for name, parameter in elmo.named_parameters() if parameter.grad is None] == []


def test_other_sizes_are_named() -> None:
    state = allennlp_state()
    state["_elmo_lstm._elmo_lstm.forward_layer_0.state_linearity.bias"] = torch.zeros(32)
    del state["_elmo_lstm._token_embedder._projection.bias"], state["scalar_mix_1.scalar_parameters.2"]
    with pytest.raises(RuntimeError) as error:
        Elmo(*FILES, 2).load_state_dict(state)
    assert 'Missing key(s) in state_dict: "encoder.network.token_encoder.projection.bias"' in str(error.value)
    assert "size mismatch for encoder.network.encoder.forward_layers.0.bias" in str(error.value)
    assert "size mismatch for scalar_mix_1.weights" in str(error.value)


def test_a_mix_that_allennlp_saved() -> None:
    numbers = {f"mix.scalar_parameters.{layer}": torch.tensor([float(layer)]) for layer in range(12)}
    holder = torch.nn.ModuleDict({"mix": ScalarMix(12)})
    holder.load_state_dict({**numbers, "mix.gamma": torch.tensor([1.5])})
    mix = holder["mix"]
    assert isinstance(mix, ScalarMix)
    assert mix.weights.tolist() == list(range(12))
    assert mix.gamma.item() == 1.5
    other = ScalarMix(12)
    other.load_state_dict(mix.state_dict())
    assert other.weights.tolist() == list(range(12))
    with pytest.raises(RuntimeError, match=r"size mismatch for weights: .*\[12\].*\[3\]"):
        ScalarMix(3).load_state_dict({name.removeprefix("mix."): one for name, one in numbers.items()})

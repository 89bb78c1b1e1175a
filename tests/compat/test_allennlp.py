"""AllenNLP's `Elmo`, `batch_to_ids` and `ElmoEmbedder`, against arrays made by running AllenNLP itself."""

import io
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import GOLDEN, arrays, batches

import polyseme
from polyseme.compat.allennlp import (
    Elmo,
    ElmoEmbedder,
    ScalarMix,
    _ElmoBiLm,
    batch_to_ids,
)
from polyseme.errors import InputError, MissingPart
from polyseme.formats.bilm_arrays import to_arrays
from polyseme.formats.detect import open_model
from polyseme.models.config import CharacterEncoderConfig

MODEL = GOLDEN / "allennlp" / "two_layers"
FILES = (MODEL / "options.json", MODEL / "weights.hdf5")
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    return arrays("allennlp/elmo.npz")


def build(reference: dict[str, Any], **options: Any) -> Elmo:
    """An Elmo with two outputs, the second with the mix the reference was made with."""
    elmo = Elmo(*FILES, 2, dropout=0.0, **options)
    if "scalar_mix_parameters" not in options:
        mix = elmo.get_submodule("scalar_mix_1")
        assert isinstance(mix, ScalarMix)
        mix.weights.data = torch.from_numpy(reference["elmo/mix1/weights"])
        mix.gamma.data.fill_(float(reference["elmo/mix1/gamma"]))
    return elmo


def agrees(reference: dict[str, Any], key: str, output: dict[str, Any]) -> None:
    assert f"{key}/representation0" in reference
    for number, representation in enumerate(output["elmo_representations"]):
        if number and f"{key}/representation{number}" not in reference:
            continue
        expected = reference[f"{key}/representation{number}"]
        assert representation.shape == expected.shape
        np.testing.assert_allclose(representation.detach(), expected, atol=TOLERANCE, rtol=0)
    np.testing.assert_array_equal(output["mask"], reference[f"{key}/mask"])


def test_character_ids_are_those_of_allennlp(reference: dict[str, Any]) -> None:
    expected = arrays("allennlp/two_layers.npz")
    for number, batch in enumerate(batches()):
        np.testing.assert_array_equal(batch_to_ids(batch), expected[f"ids/batch{number}"])
    odd = json.loads((GOLDEN / "allennlp" / "odd_tokens.json").read_text(encoding="utf-8"))
    sentences = odd if isinstance(odd[0], list) else [odd]
    np.testing.assert_array_equal(batch_to_ids(sentences), reference["ids/odd_tokens"])


def test_batch_to_ids_refuses_a_flat_list() -> None:
    with pytest.raises(InputError, match=r"sentence 0 is the string 'bank', not a list of tokens"):
        batch_to_ids(["bank"])


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("plain", {}),
        ("boundaries", {"keep_sentence_boundaries": True}),
        ("layer_norm", {"do_layer_norm": True}),
        ("layer_norm_boundaries", {"do_layer_norm": True, "keep_sentence_boundaries": True}),
        ("mix_given", {"scalar_mix_parameters": [0.5, -1.0, 1.5]}),
    ],
)
def test_elmo_agrees(case: str, options: dict[str, Any], reference: dict[str, Any]) -> None:
    elmo = build(reference, **options)
    for number in (0, 2):
        agrees(reference, f"elmo/{case}/batch{number}", elmo(batch_to_ids(batches()[number])))


def test_rows_without_tokens_and_more_dimensions(reference: dict[str, Any]) -> None:
    elmo = build(reference)
    agrees(reference, "elmo/empty_row", elmo(torch.from_numpy(reference["elmo/empty_row/ids"])))
    agrees(reference, "elmo/four_dims", elmo(torch.from_numpy(reference["elmo/four_dims/ids"])))
    kept = build(reference, keep_sentence_boundaries=True)
    agrees(reference, "elmo/empty_row_boundaries", kept(torch.from_numpy(reference["elmo/empty_row/ids"])))


def test_nothing_but_padding() -> None:
    elmo = Elmo(*FILES, 1, dropout=0)
    output = elmo(torch.zeros(2, 3, 50, dtype=torch.long))
    assert output["elmo_representations"][0].shape == (2, 3, 16)
    assert not output["elmo_representations"][0].any()
    assert not output["mask"].any()
    assert elmo(torch.zeros(0, 3, 50, dtype=torch.long))["elmo_representations"][0].shape == (0, 3, 16)


@pytest.mark.parametrize("case", ["known", "unknown", "past_the_end"])
def test_cached_vocabulary(case: str, reference: dict[str, Any]) -> None:
    elmo = build(reference, vocab_to_cache=reference["elmo/cached/words"].tolist())
    word_ids = torch.from_numpy(reference[f"elmo/cached/{case}/word_ids"])
    agrees(reference, f"elmo/cached/{case}", elmo(batch_to_ids(batches()[0]), word_ids))


def test_word_inputs_without_a_cache_are_ignored(reference: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    output = build(reference)(batch_to_ids(batches()[0]), torch.ones(5, 9, dtype=torch.long))
    agrees(reference, "elmo/plain/batch0", output)
    assert "no vocab_to_cache" in caplog.text


def test_stateful_carries_over_as_allennlp_does() -> None:
    expected = arrays("allennlp/two_layers.npz")
    bilm = _ElmoBiLm(*FILES, stateful=True)
    for sweep in (1, 2):
        for number, batch in enumerate(batches()):
            activations = bilm(batch_to_ids(batch))["activations"]
            for row, sentence in enumerate(batch):
                layers = torch.stack(activations)[:, row, 1 : len(sentence) + 1]
                wanted = expected[f"stateful/pass{sweep}/batch{number}/layers"][:, row, : len(sentence)]
                np.testing.assert_allclose(layers, wanted, atol=TOLERANCE, rtol=0)


def test_gradients_agree(reference: dict[str, Any]) -> None:
    elmo = build(reference, requires_grad=True)
    loss = elmo(batch_to_ids(batches()[0]))["elmo_representations"][0].square().sum()
    loss.backward()
    config = open_model(FILES).bilm_config
    assert isinstance(config.token_encoder, CharacterEncoderConfig)
    gradients = {
        name: parameter.grad
        for name, parameter in elmo.encoder.network.named_parameters()
        if parameter.grad is not None
    }
    compared = to_arrays(gradients, config, config.token_encoder)
    mix = elmo.get_submodule("scalar_mix_0")
    assert isinstance(mix, ScalarMix)
    assert mix.weights.grad is not None
    assert mix.gamma.grad is not None
    compared |= {"mix/weights": mix.weights.grad, "mix/gamma": mix.gamma.grad, "loss": loss.detach()}
    assert {f"gradient/{name}" for name in compared} == {name for name in reference if name.startswith("gradient/")}
    for name, gradient in compared.items():
        expected = reference[f"gradient/{name}"]
        np.testing.assert_allclose(gradient, expected, atol=2e-5 * max(1.0, float(np.abs(expected).max())), rtol=0)


def test_frozen_unless_asked(reference: dict[str, Any]) -> None:
    elmo = build(reference)
    learning = {name for name, parameter in elmo.named_parameters() if parameter.requires_grad}
    assert learning == {f"scalar_mix_{i}.{part}" for i in (0, 1) for part in ("weights", "gamma")}
    fixed = build(reference, scalar_mix_parameters=[0.5, -1.0, 1.5])
    assert not any(parameter.requires_grad for parameter in fixed.parameters())


def test_dropout_works_while_training_only() -> None:
    elmo = Elmo(*FILES, 1, dropout=0.5)
    ids = batch_to_ids([["The", "river", "bank"]])
    assert (elmo.train()(ids)["elmo_representations"][0] == 0).any()
    first, second = elmo.eval()(ids), elmo(ids)
    assert torch.equal(first["elmo_representations"][0], second["elmo_representations"][0])


def test_a_module_in_place_of_files() -> None:
    elmo = Elmo(num_output_representations=1, dropout=0, module=_ElmoBiLm(*FILES))
    assert elmo.get_output_dim() == 16
    with pytest.raises(InputError, match="give module, or options_file and weight_file, not both"):
        Elmo(*FILES, 1, module=_ElmoBiLm(*FILES))
    with pytest.raises(
        InputError, match="no model given; expected a model's name or path, options_file and weight_file"
    ):
        Elmo()


def test_names_at_the_top() -> None:
    assert polyseme.Elmo is Elmo
    assert polyseme.batch_to_ids is batch_to_ids


class TestElmoEmbedder:
    def test_methods_agree(self) -> None:
        reference = arrays("allennlp/elmo_embedder.npz")
        first = batches()[0]
        stateful = ElmoEmbedder(*FILES, stateful=True)
        for call in (1, 2):
            wanted = reference[f"embed_sentence/call{call}"]
            np.testing.assert_allclose(stateful.embed_sentence(first[0]), wanted, atol=TOLERANCE, rtol=0)
        for number, vectors in enumerate(ElmoEmbedder(*FILES).embed_batch(first)):
            np.testing.assert_allclose(vectors, reference[f"embed_batch/sentence{number}"], atol=TOLERANCE, rtol=0)
        with_empty = [*first, [], *batches()[1]]
        results = list(ElmoEmbedder(*FILES, stateful=True).embed_sentences(with_empty, batch_size=3))
        assert len(results) == len(with_empty)
        for number, vectors in enumerate(results):
            wanted = reference[f"embed_sentences/sentence{number}"]
            if wanted.shape[1]:
                np.testing.assert_allclose(vectors, wanted, atol=TOLERANCE, rtol=0)
            else:  # AllenNLP gives (3, 0, 1024) whatever the model's width
                assert vectors.shape == (3, 0, 16)

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("all", {"output_format": "all"}),
            ("top", {"output_format": "top"}),
            ("average", {"output_format": "average"}),
            ("forget", {"output_format": "top", "forget_sentences": True}),
            ("sentence_keys", {"output_format": "top", "use_sentence_keys": True}),
        ],
    )
    def test_embed_file_agrees(self, name: str, options: dict[str, Any], tmp_path: Path) -> None:
        folder = GOLDEN / "allennlp" / "embed_file"
        lines = folder / ("no_doubles.txt" if "use_sentence_keys" in options else "lines.txt")
        with lines.open(encoding="utf-8") as file:
            ElmoEmbedder(*FILES, stateful=True).embed_file(file, tmp_path / "out.hdf5", batch_size=2, **options)
        with h5py.File(tmp_path / "out.hdf5") as ours, h5py.File(folder / f"{name}.hdf5") as theirs:
            names: list[str] = []
            theirs.visititems(lambda key, item: names.append(key) if isinstance(item, h5py.Dataset) else None)
            for key in names:
                assert ours[key].shape == theirs[key].shape
                assert ours[key].dtype == theirs[key].dtype
                if key == "sentence_to_index":
                    assert json.loads(ours[key][0]) == json.loads(theirs[key][0])
                else:
                    np.testing.assert_allclose(ours[key], theirs[key], atol=TOLERANCE, rtol=0)
            assert set(ours) == set(theirs)

    def test_a_batch_as_one_tensor_agrees(self) -> None:
        reference = arrays("allennlp/two_layers.npz")
        stateful = ElmoEmbedder(*FILES, stateful=True)
        for number, batch in enumerate(batches()):
            activations, mask = ElmoEmbedder(*FILES).batch_to_embeddings(batch)
            wanted = reference[f"stateless/batch{number}/layers"].swapaxes(0, 1)  # (B, L, T, D)
            assert activations.shape == wanted.shape
            np.testing.assert_allclose(activations, wanted, atol=TOLERANCE, rtol=0)
            assert not activations[~mask.unsqueeze(1).expand(activations.shape[:3])].any()
            np.testing.assert_array_equal(mask, reference[f"stateless/batch{number}/mask"])
            carried, _ = stateful.batch_to_embeddings(batch)
            wanted = reference[f"stateful/pass1/batch{number}/layers"].swapaxes(0, 1)
            np.testing.assert_allclose(carried, wanted, atol=TOLERANCE, rtol=0)
        activations, mask = ElmoEmbedder(*FILES).batch_to_embeddings([])
        assert activations.shape == (0, 3, 0, 16)
        assert mask.shape == (0, 0)
        activations, mask = ElmoEmbedder(*FILES).batch_to_embeddings([["Yes"], []])
        assert activations.shape == (2, 3, 1, 16)
        assert mask.tolist() == [[True], [False]]

    def test_one_name_or_path_is_a_model(self) -> None:
        sentence = ["The", "river", "bank"]
        expected = ElmoEmbedder(*FILES).embed_sentence(sentence)
        for embedder in (ElmoEmbedder(Path(FILES[1]).parent), ElmoEmbedder(weight_file=Path(FILES[1]).parent)):
            np.testing.assert_array_equal(embedder.embed_sentence(sentence), expected)
        assert ElmoEmbedder("english-small").embed_sentence(sentence).shape == (3, 3, 256)

    def test_bad_input(self, tmp_path: Path) -> None:
        with pytest.raises(MissingPart, match="nothing is ever downloaded; give a model's name or path, such as 'engl"):
            ElmoEmbedder()
        embedder = ElmoEmbedder(*FILES)
        out = tmp_path / "out.hdf5"
        with pytest.raises(InputError, match=r"empty lines at \[1, 2\]"):
            embedder.embed_file(io.StringIO("one\n\n  \ntwo\n"), out)
        with pytest.raises(InputError, match="'one' occurs twice"):
            embedder.embed_file(io.StringIO("one\ntwo\none\n"), out, use_sentence_keys=True)
        with pytest.raises(InputError, match="expected 'all', 'top' or 'average'"):
            embedder.embed_file(io.StringIO("one\n"), out, "mean")  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []

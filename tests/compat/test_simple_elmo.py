"""simple_elmo's `ElmoModel`, against arrays that TensorFlow computed and closed forms of them."""

import inspect
import shutil
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import GOLDEN, arrays

from polyseme.compat.simple_elmo import ElmoModel
from polyseme.embed.load import load, load_embedder
from polyseme.errors import InputError, MissingPart

CHECKPOINT = GOLDEN / "tf_checkpoint" / "model"
HDF5 = GOLDEN / "allennlp" / "two_layers"
MARKERS = [0, 1, 2]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    return arrays("tf_checkpoint/expected.npz")


@pytest.fixture(scope="module")
def model() -> ElmoModel:
    model = ElmoModel()
    model.load(str(CHECKPOINT), full=True)
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as simple_elmo describes it: model.hdf5, options.json and, as it may be, a second HDF5 file."""
    shutil.copy(HDF5 / "weights.hdf5", tmp_path / "model.hdf5")
    shutil.copy(HDF5 / "options.json", tmp_path / "options.json")
    return tmp_path


def sentences(reference: dict[str, Any]) -> list[list[str]]:
    return [reference[f"sentence_{i}/tokens"].tolist() for i in range(3)]


def reduced(layers: Any, how: str) -> Any:
    """What a choice makes of all layers (L, T, D)."""
    return {"average": layers.mean(axis=0), "top": layers[-1], "all": layers}[how]


@pytest.mark.parametrize("how", ["average", "top", "all"])
def test_vectors_are_those_of_tensorflow_filled_up_with_zeros(
    model: ElmoModel, reference: dict[str, Any], how: Any
) -> None:
    texts = sentences(reference)
    vectors = model.get_elmo_vectors(texts, layers=how)
    assert vectors.dtype == np.float32
    assert vectors.shape == ((3, 3, 8, 16) if how == "all" else (3, 8, 16))
    for i, text in enumerate(texts):
        expected = reduced(reference[f"sentence_{i}/layers"][:, 1:-1], how)
        np.testing.assert_allclose(vectors[i][..., : len(text), :], expected, atol=TOLERANCE, rtol=0)
        assert not vectors[i][..., len(text) :, :].any()


@pytest.mark.parametrize("how", ["average", "top", "all"])
def test_averages_are_over_real_tokens_alone(model: ElmoModel, reference: dict[str, Any], how: Any) -> None:
    texts = sentences(reference)
    averages = model.get_elmo_vector_average(texts, layers=how)
    assert averages.dtype == np.float32
    assert averages.shape == ((3, 3, 16) if how == "all" else (3, 16))
    for i in range(3):
        expected = reduced(reference[f"sentence_{i}/layers"][:, 1:-1], how).mean(axis=-2)
        np.testing.assert_allclose(averages[i], expected, atol=TOLERANCE, rtol=0)
    counting_padding = model.get_elmo_vectors(texts, layers=how).mean(axis=-2)
    assert np.abs(averages[1] - counting_padding[1]).max() > 0.05
    np.testing.assert_allclose(model.get_elmo_vector_average(texts[1:2], layers=how)[0], averages[1], atol=1e-6)


def test_the_same_text_gets_the_same_vectors_again(model: ElmoModel, reference: dict[str, Any]) -> None:
    texts = sentences(reference)
    first = model.get_elmo_vectors(texts, warmup=False)
    np.testing.assert_array_equal(first, model.get_elmo_vectors(texts, warmup=True, session=None))


def test_no_tokens_and_no_sentences(model: ElmoModel) -> None:
    assert model.get_elmo_vectors([]).shape == (0, 0, 16)
    assert model.get_elmo_vectors([[], []], layers="all").shape == (2, 3, 0, 16)
    assert model.get_elmo_vector_average([]).shape == (0, 16)
    assert model.get_elmo_vector_average([], layers="all").shape == (0, 3, 16)
    averages = model.get_elmo_vector_average([[], ["bank"]])
    assert not averages[0].any()
    assert averages[1].any()
    assert model.get_elmo_substitutes([]) == []
    assert model.get_elmo_substitutes(["", "  "]) == [[], []]


def test_substitutes_are_what_tensorflows_layers_and_softmax_predict(
    model: ElmoModel, reference: dict[str, Any]
) -> None:
    weight, bias = reference["weights/softmax/W"], reference["weights/softmax/b"]
    words = (CHECKPOINT / "vocab.txt").read_text(encoding="utf-8").split()
    texts = sentences(reference)
    found = model.get_elmo_substitutes([" ".join(text) for text in texts], topn=4)
    assert [[token["word"] for token in sentence] for sentence in found] == texts
    for i, sentence in enumerate(found):
        top = reference[f"sentence_{i}/layers"][-1]  # (T + 2, D) with markers
        for position, token in enumerate(sentence):
            # Row 0 is the begin marker: the token's own row is position + 1 and must not be read.
            for predicted, state in ((token["forward"], top[position, :8]), (token["backward"], top[position + 2, 8:])):
                logits = weight @ state + bias
                logits[MARKERS] = -np.inf
                best = np.argsort(-logits)[:4]
                assert predicted["ids"] == best.tolist()
                assert predicted["words"] == [words[index] for index in best]
                np.testing.assert_allclose(predicted["logits"], logits[best], atol=1e-4, rtol=0)
    assert len(model.get_elmo_substitutes(["the bank"])[0][0]["forward"]["ids"]) == 3
    assert len(model.get_elmo_substitutes(["the bank"], topn=99)[0][0]["forward"]["ids"]) == len(words) - 3


def test_substitutes_take_tokens_too_and_many_of_them(model: ElmoModel) -> None:
    long = ["the", "river", "bank"] * 30  # more places than meet the vocabulary at once
    assert model.get_elmo_substitutes([long]) == model.get_elmo_substitutes([" ".join(long)])
    embedder = load_embedder(CHECKPOINT)
    found = model.get_elmo_substitutes([long], topn=17)[0]
    for position in (0, 31, 32, 89):
        by_word = {substitute.word: substitute for substitute in embedder.substitutes(long, position, k=17)}
        for side in ("forward", "backward"):
            predicted = found[position]["forward" if side == "forward" else "backward"]
            log_probabilities = [getattr(by_word[word], side) for word in predicted["words"]]
            # Logits and log-probabilities differ by one number a place.
            assert np.ptp(np.subtract(predicted["logits"], log_probabilities)) < 1e-4


def test_a_folder_with_a_checkpoint_beside_the_weights(folder: Path, reference: dict[str, Any]) -> None:
    shutil.copytree(CHECKPOINT, folder, dirs_exist_ok=True)
    shutil.copy(GOLDEN / "tf_checkpoint" / "weights.hdf5", folder / "model.hdf5")
    both = ElmoModel()
    both.load(folder)
    with pytest.raises(MissingPart, match=r"^the model \(bilm-hdf5\) has no softmax, so it cannot predict words; load"):
        both.get_elmo_substitutes(["the bank"])
    vectors = both.get_elmo_vectors([["the", "river", "bank", "."]])
    both.load(folder, full=True)
    assert both.get_elmo_substitutes(["the bank"])[0][1]["word"] == "bank"
    np.testing.assert_allclose(both.get_elmo_vectors([["the", "river", "bank", "."]]), vectors, atol=TOLERANCE, rtol=0)


def test_hdf5_with_a_softmax_is_a_full_model(tmp_path: Path, model: ElmoModel, reference: dict[str, Any]) -> None:
    for name in ("options.json", "vocab.txt"):
        shutil.copy(CHECKPOINT / name, tmp_path / name)
    shutil.copy(GOLDEN / "tf_checkpoint" / "weights.hdf5", tmp_path / "model.hdf5")
    with h5py.File(tmp_path / "model.hdf5", "a") as file:
        file["softmax/W"], file["softmax/b"] = reference["weights/softmax/W"], reference["weights/softmax/b"]
    full = ElmoModel()
    full.load(tmp_path, full=True)
    mine, theirs = (each.get_elmo_substitutes(["the river bank"])[0] for each in (full, model))
    assert [token["forward"]["words"] for token in mine] == [token["forward"]["words"] for token in theirs]


def test_model_hdf5_is_taken_of_several_and_a_zip_is_read(folder: Path) -> None:
    with zipfile.ZipFile(folder.parent / "209.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    shutil.copy(GOLDEN / "allennlp" / "three_layers" / "weights.hdf5", folder / "another.hdf5")
    texts = [["The", "river", "bank"]]
    expected = load((HDF5 / "options.json", HDF5 / "weights.hdf5")).embed(texts, layers="mean")
    for path in (folder, folder.parent / "209.zip", folder / "model.hdf5"):
        loaded = ElmoModel()
        loaded.load(path, max_batch_size=64, limit=10_000)
        np.testing.assert_allclose(loaded.get_elmo_vectors(texts)[0], expected[0], atol=1e-6, rtol=0)


def test_a_full_model_without_a_softmax_is_refused_at_once(folder: Path) -> None:
    with pytest.raises(MissingPart, match=r"holds a TensorFlow checkpoint and vocab\.txt with full=True$"):
        ElmoModel().load(folder, full=True)


def test_what_is_refused(model: ElmoModel) -> None:
    with pytest.raises(InputError, match=r"^no model is loaded; call load\(\.\.\.\) with a model's folder first$"):
        ElmoModel().get_elmo_vectors([["a"]])
    layers: Any = "first"
    for ask in (model.get_elmo_vectors, model.get_elmo_vector_average):
        with pytest.raises(InputError, match=r"^layers is 'first', expected 'average', 'top' or 'all'$"):
            ask([["a"]], layers=layers)
        with pytest.raises(InputError, match=r"^sentence 0 is the string 'The bank', not a list of tokens"):
            ask(["The bank"])
    with pytest.raises(InputError, match=r"^got the string 'The bank' where a list of sentences is expected"):
        model.get_elmo_substitutes("The bank")
    with pytest.raises(InputError, match=r"^topn is 0, expected at least 1$"):
        model.get_elmo_substitutes(["The bank"], topn=0)


def test_signatures() -> None:
    def names(method: Any) -> list[str]:
        return list(inspect.signature(method).parameters)[1:]

    assert names(ElmoModel.load)[1:] == ["max_batch_size", "limit", "full"]
    assert names(ElmoModel.get_elmo_vectors)[1:] == ["warmup", "layers", "session"]
    assert names(ElmoModel.get_elmo_vector_average)[1:] == ["warmup", "layers", "session"]

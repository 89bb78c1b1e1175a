"""options.json + weights.hdf5, against arrays computed by AllenNLP and by TensorFlow."""

import dataclasses
import gzip
import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import GOLDEN, arrays, batches
from tiny import WORDS, tiny_model, tiny_word_model

import polyseme
from polyseme.embed.load import load_embedder
from polyseme.errors import FormatError, InputError, MissingPart
from polyseme.formats import bilm_hdf5, files, native
from polyseme.formats.detect import open_model
from polyseme.text.characters import WholeWords
from polyseme.text.vocabulary import Vocabulary

TWO = GOLDEN / "allennlp" / "two_layers"
TOLERANCE = 1e-5


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TWO, tmp_path / "model"))


def edit(path: Path, **changes: Any) -> None:
    options = json.loads(path.read_text())
    for dotted, value in changes.items():
        *outer, last = dotted.split("__")
        place = options
        for key in outer:
            place = place[key]
        place[last] = value
    path.write_text(json.dumps(options))


@pytest.mark.parametrize("variant", ["two_layers", "three_layers"])
def test_every_layer_agrees_with_allennlp(variant: str) -> None:
    reference = arrays(f"allennlp/{variant}.npz")
    assert reference["clipped/cell"] > 0.05
    assert reference["clipped/projection"] > 0.05
    embedder = polyseme.load(GOLDEN / "allennlp" / variant)
    stateful = polyseme.load(GOLDEN / "allennlp" / variant, stateful=True)
    compared = 0
    for sweep in (1, 2):
        for number, batch in enumerate(batches()):
            if f"ids/batch{number}" not in reference:
                continue
            alone, carried = embedder.embed(batch), stateful.embed(batch)
            for row, sentence in enumerate(batch):
                wanted = reference[f"stateless/batch{number}/layers"][:, row, : len(sentence)]
                np.testing.assert_allclose(alone[row], wanted, atol=TOLERANCE, rtol=0)
                wanted = reference[f"stateful/pass{sweep}/batch{number}/layers"][:, row, : len(sentence)]
                np.testing.assert_allclose(carried[row], wanted, atol=TOLERANCE, rtol=0)
                compared += 1
    assert compared >= 16


def test_forgetting_the_state_begins_anew() -> None:
    embedder = load_embedder(TWO, stateful=True)
    first, second = embedder.embed(batches()[0]), embedder.embed(batches()[0])
    assert not np.allclose(first[0], second[0])
    embedder.forget_state()
    np.testing.assert_array_equal(embedder.embed(batches()[0])[0], first[0])


def test_agrees_with_tensorflow(tmp_path: Path) -> None:
    """The fixture that came with AllenNLP 0.9: weights and the layers bilm-tf computed for them."""
    folder = GOLDEN / "allennlp_fixture"
    weights = tmp_path / "weights.hdf5"
    weights.write_bytes(lzma.decompress((folder / "weights.hdf5.xz").read_bytes()))
    embedder = load_embedder((folder / "options.json", weights), stateful=True)
    reference = arrays("allennlp_fixture/expected.npz")
    for number, batch in enumerate(json.loads((folder / "sentences.json").read_text(encoding="utf-8"))):
        for row, vectors in enumerate(embedder.embed(batch, layers="top")):
            wanted = reference[f"batch{number}/top"][row, : len(vectors)]
            np.testing.assert_allclose(vectors, wanted, atol=TOLERANCE, rtol=0)
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    model = embedder.model
    with torch.no_grad():
        vectors = model.bilm.encode_words(torch.from_numpy(model.indexer.ids(words))).numpy()
    np.testing.assert_allclose(vectors, reference["words/vectors"], atol=TOLERANCE, rtol=0)


def test_options_of_either_number_of_characters(copy: Path) -> None:
    expected = polyseme.load(TWO).embed([["bank"]])[0]
    for number in (261, 262):
        edit(copy / "options.json", char_cnn__n_characters=number)
        np.testing.assert_array_equal(polyseme.load(copy).embed([["bank"]])[0], expected)
    edit(copy / "options.json", char_cnn__n_characters=100)
    with pytest.raises(FormatError, match=r"options.json: n_characters is 100, expected 262, or 261"):
        polyseme.load(copy)


def test_weights_trained_with_262_rows(copy: Path) -> None:
    expected = polyseme.load(TWO).embed([["bank"]])[0]
    with h5py.File(copy / "weights.hdf5", "r+") as file:
        stored = file["char_embed"][...]
        del file["char_embed"]
        file["char_embed"] = np.concatenate([stored, np.full((1, stored.shape[1]), 7, np.float32)])
    np.testing.assert_array_equal(polyseme.load(copy).embed([["bank"]])[0], expected)


@pytest.mark.parametrize("source", [TWO, GOLDEN / "allennlp" / "three_layers"])
def test_round_trips_are_exact(source: Path, tmp_path: Path) -> None:
    native.write(open_model(source), tmp_path / "native")
    bilm_hdf5.write(open_model(tmp_path / "native"), tmp_path / "back")
    assert json.loads((tmp_path / "back/options.json").read_text()) == json.loads((source / "options.json").read_text())
    with h5py.File(source / "weights.hdf5") as old, h5py.File(tmp_path / "back/weights.hdf5") as new:
        names: list[str] = []
        old.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert len(names) > 15
        for name in names:
            assert new[name].dtype == old[name].dtype
            np.testing.assert_array_equal(new[name], old[name])
    assert open_model(tmp_path / "back").fingerprint() == open_model(source).fingerprint()


def test_looking_for_an_array_does_not_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = bilm_hdf5.Hdf5Weights.__getitem__

    def watched(self: bilm_hdf5.Hdf5Weights, name: str) -> torch.Tensor:
        read.append(name)
        return plain(self, name)

    monkeypatch.setattr(bilm_hdf5.Hdf5Weights, "__getitem__", watched)
    open_model(TWO)
    assert read
    assert len(read) == len(set(read))


def test_the_fingerprint_tells_settings_that_no_tensor_tells(copy: Path) -> None:
    edit(copy / "options.json", lstm__cell_clip=1.5)
    assert open_model(copy).fingerprint() != open_model(TWO).fingerprint()


def test_the_fingerprint_tells_which_word_has_which_vector() -> None:
    model = tiny_word_model()
    words = model.vocabulary.words if model.vocabulary else ()
    swapped = Vocabulary([*words[:-2], words[-1], words[-2]])
    other = dataclasses.replace(model, indexer=WholeWords(swapped.ids), vocabulary=swapped)
    assert other.fingerprint() != model.fingerprint()
    assert dataclasses.replace(model, vocabulary=swapped).fingerprint() == model.fingerprint()


def test_a_word_of_white_space_comes_back(tmp_path: Path) -> None:
    model = dataclasses.replace(tiny_model(), vocabulary=Vocabulary([*WORDS[:-1], "\u2028"]))
    bilm_hdf5.write(model, tmp_path / "out")
    again = open_model(tmp_path / "out").vocabulary
    assert again is not None
    assert again.words[-1] == "\u2028"


def test_a_model_of_our_own_makes_options(tmp_path: Path) -> None:
    model = tiny_model()
    bilm_hdf5.write(model, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "options.json",
        "softmax.hdf5",
        "vocab.txt",
        "weights.hdf5",
    ]
    again = open_model(tmp_path / "out")
    assert again.fingerprint() == model.fingerprint()
    assert again.vocabulary is not None
    assert again.vocabulary.words == WORDS
    for name, tensor in model.bilm.state_dict().items():
        if name != "token_encoder.characters.embedding.weight":  # row 0 masks, and is not stored
            assert torch.equal(again.bilm.state_dict()[name], tensor), name


def test_the_softmax_apart(tmp_path: Path) -> None:
    bilm_hdf5.write(tiny_model(), tmp_path / "out")
    out, apart = tmp_path / "out", tmp_path / "apart"
    apart.mkdir()
    for name in ("softmax.hdf5", "vocab.txt"):
        shutil.move(out / name, apart / name)
    sentence = [["the", "river", "bank"]]
    with pytest.raises(MissingPart, match="has no softmax, so it cannot say how likely a word is"):
        load_embedder(out).score(sentence)
    pair = (out / "options.json", out / "weights.hdf5")
    with pytest.raises(MissingPart, match="has no vocabulary"):
        load_embedder(pair, softmax=apart / "softmax.hdf5").score(sentence)
    for path in (pair, out):
        embedder = load_embedder(path, softmax=apart / "softmax.hdf5", vocabulary=apart / "vocab.txt")
        assert embedder.score(sentence)[0].shape == (3, 2)
    with pytest.raises(FormatError, match=r"no softmax/W; expected a softmax file"):
        polyseme.load(pair, softmax=out / "weights.hdf5")
    (apart / "vocab.txt").write_text("<S>\n</S>\n<UNK>\nthe\n")
    with pytest.raises(FormatError, match=r"vocab.txt: 4 words but the softmax has 10"):
        polyseme.load(pair, softmax=apart / "softmax.hdf5", vocabulary=apart / "vocab.txt")


def test_a_vocabulary_packed_with_gzip(tmp_path: Path) -> None:
    bilm_hdf5.write(tiny_model(), tmp_path / "out")
    plain, packed = tmp_path / "out/vocab.txt", tmp_path / "out/vocab.txt.gz"
    content = gzip.compress(plain.read_bytes())
    expected = load_embedder(tmp_path / "out").score([["the", "bank"]])
    plain.unlink()
    packed.write_bytes(content)
    np.testing.assert_array_equal(load_embedder(tmp_path / "out").score([["the", "bank"]]), expected)
    packed.write_bytes(content[:-9])
    with pytest.raises(FormatError, match=r"vocab.txt.gz: a damaged gzip file .*; fetch it again"):
        polyseme.load(tmp_path / "out")
    packed.write_bytes(gzip.compress(b"<UNK>\n" + bytes(files.SMALL_ENTRY)))
    with pytest.raises(FormatError, match=r"vocab.txt.gz: would unpack to more than 16,777,216 bytes; refused as"):
        polyseme.load(tmp_path / "out")


def test_one_layer_and_projections_left_out(tmp_path: Path) -> None:
    """TensorFlow does not wrap a single cell, and bilm-tf leaves projections out where they would change no width."""
    options = {
        "lstm": {"dim": 4, "projection_dim": 4, "n_layers": 1, "cell_clip": 3, "proj_clip": 3},
        "char_cnn": {"embedding": {"dim": 2}, "filters": [[1, 4]], "n_highway": 0, "n_characters": 262},
    }
    generator = np.random.default_rng(0)
    full, bare = tmp_path / "full", tmp_path / "bare"
    for folder in (full, bare):
        folder.mkdir()
        (folder / "options.json").write_text(json.dumps(options))
    values = {
        "char_embed": (261, 2),
        "CNN/W_cnn_0": (1, 1, 2, 4),
        "CNN/b_cnn_0": (4,),
        **{f"RNN_{d}/RNN/LSTMCell/{name}": shape for d in (0, 1) for name, shape in (("W_0", (8, 16)), ("B", (16,)))},
    }
    with h5py.File(bare / "weights.hdf5", "w") as short, h5py.File(full / "weights.hdf5", "w") as long:
        for name, shape in values.items():
            short[name] = generator.normal(size=shape).astype(np.float32)
            long[name.replace("RNN/LSTM", "RNN/MultiRNNCell/Cell0/LSTM")] = short[name][...]
        for direction in (0, 1):
            long[f"RNN_{direction}/RNN/MultiRNNCell/Cell0/LSTMCell/W_P_0"] = np.eye(4, dtype=np.float32)
        long["CNN_proj/W_proj"], long["CNN_proj/b_proj"] = np.eye(4, dtype=np.float32), np.zeros(4, np.float32)
    sentence = [["The", "river", "bank"]]
    np.testing.assert_array_equal(polyseme.load(bare).embed(sentence)[0], polyseme.load(full).embed(sentence)[0])


def test_words_as_input(tmp_path: Path) -> None:
    """A token-input file gives what the character file gives for words in its vocabulary."""
    characters = load_embedder(TWO)
    words = ["<S>", "</S>", "<UNK>", "The", "river", "bank"]
    model = characters.model
    with torch.no_grad():
        vectors = model.bilm.encode_words(torch.from_numpy(model.indexer.ids(words))).numpy()
    (tmp_path / "options.json").write_text((TWO / "options.json").read_text())
    with h5py.File(TWO / "weights.hdf5") as old, h5py.File(tmp_path / "weights.hdf5", "w") as new:
        new["embedding"] = vectors
        for name in ("RNN_0", "RNN_1"):
            old.copy(name, new)
    with pytest.raises(
        MissingPart, match=r"needs its vocabulary; give it with vocabulary=... or put vocab.txt next to"
    ):
        polyseme.load(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    embedder = polyseme.load(tmp_path)
    sentence = ["The", "river", "bank"]
    np.testing.assert_allclose(embedder.embed([sentence])[0], characters.embed([sentence])[0], atol=1e-6)
    unknown = embedder.embed([["The", "brook", "bank"], ["The", "<UNK>", "bank"]])
    np.testing.assert_array_equal(unknown[0], unknown[1])
    (tmp_path / "vocab.txt").write_text("<S>\n</S>\n<UNK>\n")
    with pytest.raises(FormatError, match=r"vocab.txt: 3 words but .*weights.hdf5 embeds 6"):
        polyseme.load(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    native.write(open_model(tmp_path), tmp_path / "native")
    np.testing.assert_array_equal(
        polyseme.load(tmp_path / "native").embed([sentence])[0], embedder.embed([sentence])[0]
    )
    with pytest.raises(InputError, match="only a model of byte characters can be written as HDF5"):
        bilm_hdf5.write(open_model(tmp_path), tmp_path / "no")


class TestBadFiles:
    def test_shapes_that_disagree(self, copy: Path) -> None:
        edit(copy / "options.json", char_cnn__filters=[[1, 4], [2, 8], [5, 16], [4, 8]])
        message = (
            r"weights.hdf5: CNN/W_cnn_2 is \(1, 3, 4, 16\) but .*options.json asks for \(1, 5, 4, 16\); use the options"
        )
        with pytest.raises(FormatError, match=message):
            polyseme.load(copy)

    def test_a_layer_too_many(self, copy: Path) -> None:
        edit(copy / "options.json", lstm__n_layers=3)
        with pytest.raises(
            FormatError, match=r"no RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/W_0; .* asks for it with shape"
        ):
            polyseme.load(copy)

    def test_settings_missing_or_absurd(self, copy: Path) -> None:
        edit(copy / "options.json", lstm__dim=-4)
        with pytest.raises(FormatError, match=r"options.json: hidden_dim: should be at least 1"):
            polyseme.load(copy)
        edit(copy / "options.json", lstm__dim="wide")
        with pytest.raises(FormatError, match=r"options.json: hidden_dim: "):
            polyseme.load(copy)
        edit(copy / "options.json", lstm={"dim": 16})
        with pytest.raises(FormatError, match=r"options.json: no 'projection_dim' setting"):
            polyseme.load(copy)
        edit(copy / "options.json", lstm={"dim": 16, "projection_dim": 8, "n_layers": 2}, char_cnn=[1])
        with pytest.raises(FormatError, match=r"options.json: settings are not laid out as in a biLM's options.json"):
            polyseme.load(copy)

    def test_truncated(self, copy: Path) -> None:
        whole = (copy / "weights.hdf5").read_bytes()
        for share in (0.01, 0.3, 0.9):
            (copy / "weights.hdf5").write_bytes(whole[: int(len(whole) * share)])
            with pytest.raises(
                FormatError, match=r"weights.hdf5: (not an HDF5 file, or a truncated one|.*cannot be read)"
            ):
                polyseme.load(copy)

    def test_declared_but_not_stored(self, copy: Path) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            del file["char_embed"]
            file.create_dataset("char_embed", shape=(261, 4), dtype="f4")  # never written: no bytes in the file
        with pytest.raises(FormatError, match=r"char_embed declares 4,176 bytes but stores 0; the file is truncated"):
            polyseme.load(copy)

    def test_chunks_declared_but_not_stored(self, copy: Path) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            del file["char_embed"]
            file.create_dataset("char_embed", shape=(261, 4), dtype="f4", chunks=(64, 4))[:64] = 1
        with pytest.raises(FormatError, match=r"char_embed declares 4,176 bytes but stores 1,024; the file is trunc"):
            polyseme.load(copy)

    def test_chunks_and_compression_are_read(self, copy: Path) -> None:
        expected = open_model(copy).fingerprint()
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            values = file["char_embed"][...]
            del file["char_embed"]
            file.create_dataset("char_embed", data=values, chunks=(100, 3), compression="gzip")
        assert open_model(copy).fingerprint() == expected

    def test_chunks_that_unpack_to_too_much(self, copy: Path) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            del file["char_embed"]
            file.create_dataset("char_embed", data=np.zeros((261, 1 << 15), np.float32), compression="gzip")
        edit(copy / "options.json", char_cnn__embedding__dim=1 << 15)
        with pytest.raises(FormatError, match=r"char_embed: [\d,]+ bytes would unpack to 34,209,792, more than 20 ti"):
            polyseme.load(copy)

    def test_an_array_in_another_file_is_not_opened(self, copy: Path) -> None:
        (copy / "secret").write_bytes(bytes(261 * 4 * 4))
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            del file["char_embed"]
            place = [(str(copy / "secret"), 0, h5py.h5f.UNLIMITED)]
            file.create_dataset("char_embed", shape=(261, 4), dtype="f4", external=place)
        with pytest.raises(FormatError, match=r"char_embed is in another file, .*refused as unsafe"):
            polyseme.load(copy)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("embedding", "embedding is a single number, expected one row per word"),
            ("softmax/b", "softmax/b is a single number, expected one row per word"),
        ],
    )
    def test_a_number_in_place_of_an_array(self, copy: Path, name: str, message: str) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            if name == "embedding":
                del file["char_embed"]
            file[name] = np.float32(1)
        with pytest.raises(FormatError, match=message):
            polyseme.load(copy)

    @pytest.mark.parametrize("held", [h5py.Empty("f4"), None])
    def test_an_empty_array_or_a_group_of_its_name(self, copy: Path, held: object) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            del file["CNN_proj/b_proj"]
            if held is None:
                file.create_group("CNN_proj/b_proj")
            else:
                file["CNN_proj/b_proj"] = held
        with pytest.raises(FormatError, match=r"weights.hdf5: (CNN_proj/b_proj is \(0\)|no CNN_proj/b_proj)"):
            polyseme.load(copy)

    def test_a_projection_left_out_is_not_made_at_any_size(self, copy: Path) -> None:
        """A projection of 2^20 columns to as many would take 4 TiB, and nothing of that size is in the file."""
        size = 1 << 20
        edit(copy / "options.json", lstm__projection_dim=size, char_cnn__filters=[[1, size]], char_cnn__n_highway=0)
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            for name in [name for name in file if name.startswith("CNN")]:
                del file[name]
            file["CNN/W_cnn_0"] = np.zeros((1, 1, 4, size), dtype=np.float32)
            file["CNN/b_cnn_0"] = np.zeros(size, dtype=np.float32)
        with pytest.raises(FormatError, match=r"LSTMCell/W_0 is \(16, 64\) but .* asks for \(2097152, 64\)"):
            polyseme.load(copy)

    def test_numbers_of_another_kind(self, copy: Path) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            del file["CNN/b_cnn_0"]
            file["CNN/b_cnn_0"] = np.arange(4)
        with pytest.raises(FormatError, match=r"CNN/b_cnn_0 holds int64, expected floating-point numbers"):
            polyseme.load(copy)

    def test_nan(self, copy: Path) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            file["CNN_proj/b_proj"][0] = np.nan
        with pytest.raises(FormatError, match=r"token_encoder.projection.bias holds NaN or infinity"):
            polyseme.load(copy)

    def test_not_a_bilm(self, tmp_path: Path) -> None:
        shutil.copy(TWO / "options.json", tmp_path)
        with h5py.File(tmp_path / "weights.hdf5", "w") as file:
            file["dense/kernel"] = np.zeros(3)
        with pytest.raises(FormatError, match=r"neither char_embed nor embedding in it; .*it holds dense/kernel"):
            polyseme.load(tmp_path)

    def test_half_and_double_precision_are_read_as_float32(self, copy: Path) -> None:
        with h5py.File(copy / "weights.hdf5", "r+") as file:
            for name, kind in (("char_embed", "f8"), ("CNN_proj/b_proj", "f2")):
                values = file[name][...]
                del file[name]
                file[name] = values.astype(kind)
        assert all(p.dtype == torch.float32 for p in open_model(copy).bilm.parameters())

"""Reading ELMoForManyLangs folders: what they get wrong, and what is refused."""

import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import GOLDEN, arrays

from polyseme.embed.load import load
from polyseme.errors import FormatError, InputError
from polyseme.formats.detect import open_model
from polyseme.formats.many_langs import _DEFAULT, KIND
from polyseme.models.config import CharacterEncoderConfig
from polyseme.text.characters import UnicodeCharacters

FOLDER = GOLDEN / "many_langs"
SENTENCES: list[list[str]] = json.loads((FOLDER / "sentences.json").read_text(encoding="utf-8"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER / "words_and_characters", tmp_path / "model"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def characters_of(folder: Path) -> UnicodeCharacters:
    indexer = open_model(folder).indexer
    assert isinstance(indexer, UnicodeCharacters)
    return indexer


def agrees(path: Path, name: str) -> None:
    reference = arrays(f"many_langs/{name}.npz")
    for i, layers in enumerate(load(path).embed(SENTENCES)):
        np.testing.assert_allclose(layers, reference[f"stateless/sentence{i}/layers"], atol=1e-5, rtol=0)


class Code:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


# Pickles


@pytest.mark.parametrize(("name", "is_zip"), [("words_and_characters", False), ("characters", True)])
def test_torchs_old_format_and_its_zip_both_load(name: str, is_zip: bool) -> None:
    assert zipfile.is_zipfile(FOLDER / name / "encoder.pkl") == is_zip
    agrees(FOLDER / name, name)
    assert open_model(FOLDER / name).config.source == KIND


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("inside", ["", "zhs.model/"])
def test_a_zip_of_the_folder_loads_in_place(tmp_path: Path, compression: int, inside: str) -> None:
    path = tmp_path / "179.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for file in (FOLDER / "words_and_characters").iterdir():
            archive.write(file, inside + file.name)
    agrees(path, "words_and_characters")
    assert [file.name for file in tmp_path.iterdir()] == ["179.zip"]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("part", ["encoder.pkl", "token_embedder.pkl"])
def test_code_in_a_pickle_is_refused_and_does_not_run(model: Path, tmp_path: Path, part: str, zipped: bool) -> None:
    torch.save(
        {"forward_layer_0": torch.ones(2), "x": Code(tmp_path / "ran")},
        model / part,
        _use_new_zipfile_serialization=zipped,
    )
    with pytest.raises(FormatError) as raised:
        open_model(model)
    assert str(raised.value) == (
        f"{model / part}: holds more than tensors, and loading it could run code; refused. "
        "Save its state_dict() alone and try again"
    )
    assert not (tmp_path / "ran").exists()


def test_code_in_a_bare_pickle_is_refused_too(model: Path, tmp_path: Path) -> None:
    for protocol in (0, 2, 3, 4, 5):
        (model / "encoder.pkl").write_bytes(pickle.dumps(Code(tmp_path / "ran"), protocol=protocol))
        with pytest.raises(FormatError, match=r"encoder\.pkl: holds more than tensors, and loading it could run code"):
            open_model(model)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["words_and_characters", "characters"])
def test_a_truncated_pickle(tmp_path: Path, name: str) -> None:
    model = Path(shutil.copytree(FOLDER / name, tmp_path / "model"))
    whole = (model / "encoder.pkl").read_bytes()
    for length in (0, 1, 4, 100, 1000, len(whole) // 2, len(whole) - 1):
        (model / "encoder.pkl").write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"encoder\.pkl: not a file saved by torch, or a damaged or truncated"):
            open_model(model)


def test_a_web_page_in_place_of_a_pickle(model: Path) -> None:
    (model / "encoder.pkl").write_text("<!DOCTYPE html><title>404</title>", encoding="utf-8")
    with pytest.raises(FormatError, match=r"encoder\.pkl: not a file saved by torch, or a damaged or truncated one"):
        open_model(model)


@pytest.mark.parametrize(("held", "called"), [([1, 2], "list"), (torch.ones(2), "Tensor"), ({"a": 1}, "dict")])
def test_a_pickle_of_something_else(model: Path, held: object, called: str) -> None:
    torch.save(held, model / "encoder.pkl")
    with pytest.raises(FormatError, match=rf"encoder\.pkl: holds a {called}, expected a state dict of named tensors"):
        open_model(model)


def test_a_tensor_that_is_larger_than_what_is_stored(model: Path) -> None:
    huge = torch.zeros(1, 1).expand(1 << 20, 1 << 20)
    torch.save({"forward_layer_0.input_linearity.weight": huge}, model / "encoder.pkl")
    with pytest.raises(FormatError, match=r"encoder.pkl: forward_layer_0.* declares .* but stores fewer .*; refused"):
        open_model(model)


def test_tensors_that_unpack_to_too_much(model: Path) -> None:
    torch.save({"forward_layer_0.input_linearity.weight": torch.zeros(1 << 13, 1 << 10)}, model / "plain.pkl")
    with (
        zipfile.ZipFile(model / "plain.pkl") as plain,
        zipfile.ZipFile(model / "encoder.pkl", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    with pytest.raises(FormatError, match=r"encoder.pkl!.*: [\d,]+ bytes would unpack to 33,554,432, more than 20 tim"):
        open_model(model)


def test_weights_that_lack_a_tensor_or_hold_nan(model: Path) -> None:
    state = torch.load(model / "encoder.pkl", map_location="cpu")
    bias = state.pop("backward_layer_1.state_linearity.bias")
    torch.save(state, model / "encoder.pkl")
    with pytest.raises(FormatError, match=r"encoder\.pkl: no backward_layer_1\.state_linearity\.bias; .*\(64\)$"):
        open_model(model)
    state["backward_layer_1.state_linearity.bias"] = bias * float("nan")
    torch.save(state, model / "encoder.pkl")
    with pytest.raises(FormatError, match=r"holds NaN or infinity; the weights are damaged or their training diverged"):
        open_model(model)


# Settings


@pytest.mark.parametrize(
    "pointed", ["/home/nobody/cnn_tiny.json", "C:\\\\Users\\\\me\\\\cnn_tiny.json", "cnn_tiny.json"]
)
def test_the_name_in_a_broken_config_path_is_found_in_the_folder(model: Path, pointed: str) -> None:
    change(model / "config.json", "/home/nobody/configs/cnn_tiny.json", pointed)
    agrees(model, "words_and_characters")


def test_settings_may_stand_in_config_json_itself(model: Path) -> None:
    (model / "cnn_tiny.json").replace(model / "config.json")
    agrees(model, "words_and_characters")


def test_without_the_named_settings_the_public_default_is_taken(model: Path) -> None:
    (model / "cnn_tiny.json").unlink()
    with pytest.raises(FormatError) as raised:
        open_model(model)
    assert str(raised.value) == (
        f"{model / 'token_embedder.pkl'}: char_emb_layer.embedding.weight is (27, 5) but char.dic with the public "
        f"default cnn_50_100_512_4096_sample.json (config.json asks for 'cnn_tiny.json', which is not in {model}) asks "
        "for (27, 50); use the options that came with these weights"
    )


def test_the_public_default_reads_a_model_of_its_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the 44 public models, with few words, so that it is 400 MB no more than for a moment."""
    encoder, tokens = _DEFAULT["encoder"], _DEFAULT["token_embedder"]
    dim, cells, features = encoder["projection_dim"], encoder["dim"], sum(count for _, count in tokens["filters"])
    characters, words = ["a", "<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"], ["<oov>", "<pad>", "a"]
    zeros = torch.zeros(1)  # all values share one number, on disk too
    monkeypatch.setattr("polyseme.formats.pickled_weights._SMALL_VIEWS", 1 << 30)
    table = {
        "char_emb_layer.embedding.weight": (len(characters), 50),
        "word_emb_layer.embedding.weight": (len(words), 100),
        "projection.weight": (dim, features + 100),
        "projection.bias": (dim,),
    }
    for i, (width, count) in enumerate(tokens["filters"]):
        table |= {f"convolutions.{i}.weight": (count, 50, width), f"convolutions.{i}.bias": (count,)}
    for i in range(2):
        table |= {
            f"highways._layers.{i}.weight": (2 * features, features),
            f"highways._layers.{i}.bias": (2 * features,),
        }
    torch.save({name: zeros.expand(shape) for name, shape in table.items()}, tmp_path / "token_embedder.pkl")
    table = {}
    for layer in (f"{direction}_layer_{i}." for direction in ("forward", "backward") for i in range(2)):
        table |= {
            layer + "input_linearity.weight": (4 * cells, dim),
            layer + "state_linearity.weight": (4 * cells, dim),
        }
        table |= {layer + "state_linearity.bias": (4 * cells,), layer + "state_projection.weight": (dim, cells)}
    torch.save({name: zeros.expand(shape) for name, shape in table.items()}, tmp_path / "encoder.pkl")
    for file, entries in (("char.dic", characters), ("word.dic", words)):
        (tmp_path / file).write_text("".join(f"{entry}\t{i}\n" for i, entry in enumerate(entries)), encoding="utf-8")
    config = {"config_path": "/users4/x/conll2018/cnn_50_100_512_4096_sample.json"}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    opened = open_model(tmp_path)
    assert opened.bilm.dim == 1024
    assert isinstance(opened.bilm_config.token_encoder, CharacterEncoderConfig)
    assert opened.bilm_config.token_encoder.max_characters == 50


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"n_layers": 2',
            '"layers": 2',
            r"cnn_tiny\.json: no 'n_layers' setting; expected the configuration of an ELMoFor",
        ),
        ('"name": "cnn"', '"name": "lstm"', r"token embedder 'lstm' with encoder 'elmo'; only 'cnn' with 'elmo'"),
        (
            '"activation": "relu"',
            '"activation": "gelu"',
            r"cnn_tiny\.json: activation: should be 'relu' or 'tanh'",
        ),
        (
            '"char_dim": 5',
            '"char_dim": 0',
            r"cnn_tiny\.json: character_dim: should be at least 1",
        ),
        (
            '"projection_dim": 8',
            '"projection_dim": 9',
            r"projection\.weight is \(8, 24\) but .*cnn_tiny\.json asks for",
        ),
        ('"dim": 16', '"dim": [16]', r"cnn_tiny\.json: hidden_dim: should be a whole number"),
        ('"token_embedder": {', '"token_embedder": 3, "x": {', r"cnn_tiny\.json: settings are not laid out as in an"),
    ],
)
def test_settings_that_cannot_be(model: Path, old: str, new: str, message: str) -> None:
    change(model / "cnn_tiny.json", old, new)
    with pytest.raises(FormatError, match=message):
        open_model(model)


# Dictionaries and files


@pytest.mark.parametrize("bad", ["bank", "bank 7", "bank\tseven", "bank\t-7", "bank\t", "bank\t" + "9" * 5000])
@pytest.mark.parametrize("name", ["word.dic", "char.dic"])
def test_a_bad_line_of_a_dictionary_is_named(model: Path, name: str, bad: str) -> None:
    lines = (model / name).read_text(encoding="utf-8").split("\n")
    (model / name).write_text("\n".join([*lines[:3], bad, *lines[4:]]), encoding="utf-8")
    with pytest.raises(FormatError) as raised:
        open_model(model)
    assert str(raised.value) == f"{model / name}:4: got {bad[:60]!r}, expected a token, a tab and its id"


def test_line_endings_and_blank_lines_do_not_matter(model: Path) -> None:
    for name in ("word.dic", "char.dic"):
        (model / name).write_bytes((model / name).read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    agrees(model, "words_and_characters")


@pytest.mark.parametrize("blank", ["\u3000\t", "", "\t", "\u00a0\t", " \t"])
def test_white_space_as_a_token_is_the_ideographic_space(model: Path, blank: str) -> None:
    before = characters_of(model).characters
    change(model / "char.dic", "\u3000\t", blank)
    assert "\u3000" in before
    assert characters_of(model).characters == before
    agrees(model, "words_and_characters")


def test_a_dictionary_that_is_too_short_or_lacks_a_marker(model: Path) -> None:
    *lines, last, end = (model / "word.dic").read_text(encoding="utf-8").split("\n")
    assert (last.split("\t")[-1], end) == ("13", "")
    (model / "word.dic").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        FormatError, match=r"word_emb_layer\.embedding\.weight is \(14, 6\) but word\.dic with .* asks for \(13, 6\)"
    ):
        open_model(model)
    change(model / "char.dic", "<bow>\t", "<b>\t")
    with pytest.raises(FormatError, match=r"model: the character table lacks <bow>; it must hold <bos>, <eos>, <oov>"):
        open_model(model)


def test_a_dictionary_that_is_not_text(model: Path) -> None:
    (model / "char.dic").write_bytes(b"a\t0\n\xff\xfe\t1\n")
    with pytest.raises(FormatError, match=r"char\.dic: byte 4 is not UTF-8 text"):
        open_model(model)


def test_missing_words(model: Path) -> None:
    (model / "word.dic").unlink()
    with pytest.raises(FormatError, match=r"word_dim is 6, but word\.dic has no words; put the word\.dic that came"):
        open_model(model)


@pytest.mark.parametrize("name", ["char.dic", "encoder.pkl", "token_embedder.pkl", "config.json"])
def test_a_missing_file(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(
        FormatError, match=r"contains no known model .*elmo-many-langs: config\.json, char\.dic, token_emb"
    ):
        open_model(model)


def test_words_are_not_needed_by_a_model_without_word_vectors(tmp_path: Path) -> None:
    model = Path(shutil.copytree(FOLDER / "characters", tmp_path / "model"))
    (model / "word.dic").unlink()
    agrees(model, "characters")


def test_a_softmax_cannot_be_given(model: Path) -> None:
    with pytest.raises(InputError, match=r"elmo-many-langs model carries its own vocabulary; leave it out"):
        open_model(model, vocabulary=model / "word.dic")


def _zip_with_another_name(path: Path) -> None:
    """An entry whose name is said to be UTF-8 and is not."""
    data = bytearray(path.read_bytes())
    start = data.rindex(b"PK\x01\x02")
    data[start + 9] |= 0x08  # the flag for UTF-8 names
    data[start + 46] = 0xFF
    path.write_bytes(data)


def _zip_of_a_later_version(path: Path) -> None:
    data = bytearray(path.read_bytes())
    start = data.rindex(b"PK\x01\x02")
    data[start + 6] = 255  # the version needed to read it
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_zip_with_another_name, _zip_of_a_later_version])
def test_a_zip_that_python_cannot_read(model: Path, damage: Callable[[Path], None]) -> None:
    path = model / "encoder.pkl"
    torch.save(torch.load(path, map_location="cpu", weights_only=True), path)  # as a zip
    assert path.read_bytes().startswith(b"PK")
    agrees(model, "words_and_characters")
    damage(path)
    with pytest.raises(FormatError, match=r"encoder\.pkl: not a file saved by torch, or a damaged or truncated one \("):
        open_model(model)


@pytest.mark.parametrize(
    "other",
    [
        lambda tensor: tensor.to(torch.complex64),
        lambda tensor: tensor.to(torch.int64),
    ],
)
def test_tensors_of_other_numbers(model: Path, other: Callable[[torch.Tensor], torch.Tensor]) -> None:
    path = model / "token_embedder.pkl"
    state = torch.load(path, map_location="cpu", weights_only=True)
    torch.save(state | {"projection.bias": other(state["projection.bias"])}, path)
    with pytest.raises(FormatError, match=r"token_embedder\.pkl: projection\.bias holds torch\.\w+, expected floating"):
        open_model(model)


def test_weights_that_are_no_numbers(model: Path) -> None:
    path = model / "token_embedder.pkl"
    state = torch.load(path, map_location="cpu", weights_only=True)
    torch.save(state | {"projection.bias": torch.full_like(state["projection.bias"], float("nan"))}, path)
    with pytest.raises(FormatError, match=r"token_encoder\.projection\.bias holds NaN or infinity; the weights"):
        open_model(model)

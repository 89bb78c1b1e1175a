import json
import shutil
from pathlib import Path

import pytest
import torch
from conftest import GOLDEN
from safetensors.torch import load_file, save_file
from tiny import WORDS, tiny_model, tiny_word_model

from polyseme.errors import FormatError, InputError
from polyseme.formats import native
from polyseme.formats.detect import open_model
from polyseme.models.model import Model


def many_langs() -> Model:
    return open_model(next(path.parent for path in sorted((GOLDEN / "many_langs").rglob("encoder.pkl"))))


@pytest.mark.parametrize("make", [tiny_model, tiny_word_model, many_langs])
def test_what_is_written_is_read_back(make: object, tmp_path: Path) -> None:
    model: Model = make()  # type: ignore[operator]
    native.write(model, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == model.config
    assert again.fingerprint() == model.fingerprint()
    words = ["the", "river", "漢字", "x" * 70, "", "\u3000", "<S>", "<bos>"]
    assert (again.indexer.ids(words) == model.indexer.ids(words)).all()
    assert (again.indexer.boundaries == model.indexer.boundaries).all()
    assert (again.vocabulary and again.vocabulary.words) == (model.vocabulary and model.vocabulary.words)
    for name, tensor in model.bilm.state_dict().items():
        assert torch.equal(again.bilm.state_dict()[name], tensor)


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=r"out: exists already; give the name of a new folder"):
        native.write(tiny_model(), tmp_path / "out")
    with pytest.raises(InputError, match=r"no such folder to write model into; create it first"):
        native.write(tiny_model(), tmp_path / "missing" / "model")


def test_nothing_is_left_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(
        OSError, match=r"out: could not be written \(No space left on device\); nothing was left behind"
    ):
        native.write(tiny_model(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        native.write(tiny_model(), tmp_path / "out")
        return tmp_path / "out"

    def change(self, folder: Path, **changes: object) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))

    def test_config(self, folder: Path) -> None:
        self.change(folder, projection_dim=7)
        with pytest.raises(FormatError, match=r"model.safetensors: .* its configuration asks for"):
            open_model(folder)
        self.change(folder, projection_dim=6, surprise=1)
        with pytest.raises(FormatError, match=r"config.json: surprise: is not a setting that is known here"):
            open_model(folder)

    @pytest.mark.parametrize(
        ("part", "changes", "message"),
        [
            ("encoder", {"forget_bias": 1e300}, "forget_bias: should be at most 10000"),
            ("encoder", {"forget_bias": float("nan")}, "forget_bias: should be"),
            ("encoder", {"cell_clip": 1e300}, "cell_clip: should be at most 10{30}"),
            (
                "token_encoder",
                {"filters": [[1, 1 << 20]] * 200},
                "209,715,200 filters in all, expected at most 1,048,576",
            ),
            ("token_encoder", {"filters": [[1, 1]] * 300}, "filters: list should have at most 256 items"),
        ],
    )
    def test_numbers_beyond_reason(self, folder: Path, part: str, changes: dict[str, object], message: str) -> None:
        config = json.loads((folder / "config.json").read_text())
        self.change(folder, **{part: {**config[part], **changes}})
        with pytest.raises(FormatError, match=rf"config\.json: .*{message}"):
            open_model(folder)

    def test_weights_that_are_no_numbers(self, folder: Path) -> None:
        path = folder / "model.safetensors"
        tensors = load_file(path)
        tensors["softmax.bias"][0] = float("inf")
        save_file(tensors, path)
        with pytest.raises(FormatError, match=r"model\.safetensors: softmax\.bias holds NaN or infinity; the weights"):
            open_model(folder)

    def test_version(self, folder: Path) -> None:
        self.change(folder, version=2)
        with pytest.raises(FormatError, match=r"config.json: version: should be 1"):
            open_model(folder)

    def test_weights(self, folder: Path) -> None:
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-10])
        with pytest.raises(FormatError, match=r"model.safetensors: not a safetensors file, or a truncated one"):
            open_model(folder)

    def test_vocabulary(self, folder: Path) -> None:
        (folder / "vocabulary.txt").write_text("<UNK>\nbank\n")
        with pytest.raises(FormatError, match=r"vocabulary.txt: 2 words but config.json says 10"):
            open_model(folder)
        (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in WORDS).replace("<UNK>", "unk"))
        with pytest.raises(FormatError, match=r"vocabulary.txt: no <UNK> among its 10 words"):
            open_model(folder)

    def test_ids_beyond_the_table(self, tmp_path: Path) -> None:
        native.write(tiny_word_model(), tmp_path / "words")
        table = {word: number for number, word in enumerate(WORDS)} | {"bank": 99}
        (tmp_path / "words/words.json").write_text(json.dumps(table))
        with pytest.raises(FormatError, match=r"words.json: 'bank' has id 99, expected a number below 10"):
            open_model(tmp_path / "words")

    def test_a_missing_table(self, tmp_path: Path) -> None:
        native.write(many_langs(), tmp_path / "unicode")
        shutil.move(tmp_path / "unicode/characters.json", tmp_path)
        with pytest.raises(FormatError, match=r"characters.json is missing"):
            open_model(tmp_path / "unicode")

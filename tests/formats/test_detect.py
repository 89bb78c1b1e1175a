"""One table recognises every format, and says what is wrong where it cannot."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GOLDEN, arrays
from tiny import tiny_model

import polyseme
from polyseme.embed.load import load_embedder
from polyseme.errors import FormatError, InputError
from polyseme.formats import detect, native
from polyseme.formats.detect import open_model
from polyseme.formats.files import HDF5_SIGNATURE

TWO = GOLDEN / "allennlp" / "two_layers"
OPTIONS, WEIGHTS = TWO / "options.json", TWO / "weights.hdf5"
CHECKPOINT = GOLDEN / "tf_checkpoint" / "model"
SENTENCE = [["The", "river", "bank"]]


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return polyseme.load((OPTIONS, WEIGHTS)).embed(SENTENCE)[0]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("inside", ["", "204/"])
def test_a_zip_is_opened_in_place(compression: int, inside: str, tmp_path: Path, expected: np.ndarray) -> None:
    """As NLPL ships it: model.hdf5, options.json, vocab.txt."""
    path = tmp_path / "204.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.write(WEIGHTS, inside + "model.hdf5")
        archive.write(OPTIONS, inside + "options.json")
        archive.writestr(inside + "vocab.txt", "<S>\n</S>\n<UNK>\nbank\n")
        archive.writestr(inside + "meta.json", '{"language": "und"}')
    embedder = load_embedder(path)
    np.testing.assert_array_equal(embedder.embed(SENTENCE)[0], expected)
    assert embedder.model.vocabulary is not None
    assert [entry.name for entry in tmp_path.iterdir()] == ["204.zip"]


@pytest.mark.parametrize("path", [TWO, str(TWO), WEIGHTS, str(WEIGHTS)])
def test_a_folder_or_its_weights(path: str | Path, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(polyseme.load(path).embed(SENTENCE)[0], expected)


def test_the_native_folder(tmp_path: Path, expected: np.ndarray) -> None:
    native.write(open_model(TWO), tmp_path / "native")
    for path in (tmp_path / "native", tmp_path / "native/config.json", tmp_path / "native/model.safetensors"):
        np.testing.assert_array_equal(polyseme.load(path).embed(SENTENCE)[0], expected)
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "native")
    np.testing.assert_array_equal(polyseme.load(tmp_path / "packed.zip").embed(SENTENCE)[0], expected)


def test_names_do_not_matter_but_contents_do(tmp_path: Path, expected: np.ndarray) -> None:
    shutil.copy(OPTIONS, tmp_path / "elmo_2x16_8_options.json")
    shutil.copy(WEIGHTS, tmp_path / "elmo_2x16_8_weights.bin")
    np.testing.assert_array_equal(polyseme.load(tmp_path).embed(SENTENCE)[0], expected)


@pytest.mark.parametrize(
    "path",
    [CHECKPOINT, CHECKPOINT / "checkpoint", CHECKPOINT / "model.ckpt-935588", CHECKPOINT / "model.ckpt-935588.index"],
)
def test_a_tensorflow_checkpoint(path: Path) -> None:
    """Layers and both directions' log-probabilities as TensorFlow computed them."""
    reference = arrays("tf_checkpoint/expected.npz")
    embedder = load_embedder(path)
    for number in range(3):
        tokens = [str(token) for token in reference[f"sentence_{number}/tokens"]]
        layers = reference[f"sentence_{number}/layers"][:, 1:-1]
        np.testing.assert_allclose(embedder.embed([tokens])[0], layers, atol=1e-5, rtol=0)
        scores = embedder.score([tokens])[0]
        forward = reference[f"sentence_{number}/forward_log_probability"][: len(tokens)]
        backward = reference[f"sentence_{number}/backward_log_probability"]
        np.testing.assert_allclose(scores[:, 0], forward, atol=1e-5, rtol=0)
        np.testing.assert_allclose(scores[:, 1], backward[-len(tokens) :], atol=1e-5, rtol=0)


def test_a_checkpoint_in_a_zip(tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "ckpt"), "zip", CHECKPOINT)
    assert open_model(tmp_path / "ckpt.zip").fingerprint() == open_model(CHECKPOINT).fingerprint()


def test_of_several_weights_the_one_named(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    shutil.copytree(TWO, folder)
    shutil.copy(WEIGHTS, folder / "other.hdf5")
    with pytest.raises(
        InputError, match=r"2 files could be the weights: other.hdf5, weights.hdf5; name the one you mean"
    ):
        polyseme.load(folder)
    assert polyseme.load(folder / "other.hdf5").dim == 16


def test_a_bundled_model_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    native.write(tiny_model(), tmp_path / "martian-small")
    monkeypatch.setattr(detect, "BUNDLED", tmp_path)
    assert polyseme.load("martian-small").fingerprint() == tiny_model().fingerprint()
    with pytest.raises(InputError, match=r"no model of that name is bundled \(there are: martian-small\)"):
        polyseme.load("other-small")
    with pytest.raises(InputError, match=r"elsewhere/martian-small: no such file or folder"):
        polyseme.load("elsewhere/martian-small")


class TestBadPaths:
    @pytest.mark.parametrize("path", ["", None, 3])
    def test_no_path(self, path: Any) -> None:
        with pytest.raises(InputError, match=r"^got .* where a model is expected: a bundled one's name, a path, or \("):
            polyseme.load(path)

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"no-such: no such file or folder, and no model of that name is bundled"):
            polyseme.load("no-such")
        with pytest.raises(InputError, match=r"o.json: no such file; expected the model's options"):
            polyseme.load((tmp_path / "o.json", WEIGHTS))
        with pytest.raises(InputError, match=r"w.hdf5: no such file; expected the model's weights"):
            polyseme.load((OPTIONS, tmp_path / "w.hdf5"))
        with pytest.raises(InputError, match=r"got 3 paths, expected \(options, weights\)"):
            polyseme.load((OPTIONS, WEIGHTS, WEIGHTS))  # type: ignore[arg-type]

    def test_swapped(self) -> None:
        with pytest.raises(InputError, match=r"weights.hdf5: this is an HDF5 weights file where options are expected"):
            polyseme.load((WEIGHTS, OPTIONS))
        with pytest.raises(InputError, match=r"options.json: this is an options file where weights are expected"):
            polyseme.load((OPTIONS, OPTIONS))

    def test_weights_alone_and_options_alone(self, tmp_path: Path) -> None:
        shutil.copy(WEIGHTS, tmp_path)
        with pytest.raises(InputError, match=r"weights without options; put their options.json next to them"):
            polyseme.load(tmp_path / "weights.hdf5")
        with pytest.raises(InputError, match=r"these are options without weights"):
            polyseme.load(OPTIONS)

    def test_not_a_model(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("nothing here")
        with pytest.raises(FormatError, match=r"contains no known model \(it holds notes.txt\); known are polyseme: "):
            polyseme.load(tmp_path)
        with pytest.raises(FormatError, match=r"notes.txt: not a model file of a known format"):
            polyseme.load(tmp_path / "notes.txt")
        (tmp_path / "w.hdf5").write_text("not HDF5")
        with pytest.raises(FormatError, match=r"w.hdf5: not an HDF5 file, or one damaged at its start"):
            polyseme.load((OPTIONS, tmp_path / "w.hdf5"))
        with pytest.raises(FormatError, match=r"w.hdf5: not an HDF5 file, or one damaged at its start"):
            polyseme.load(tmp_path / "w.hdf5")
        (tmp_path / "o.json").write_text("{broken")
        with pytest.raises(FormatError, match=r"o.json: not JSON \("):
            polyseme.load((tmp_path / "o.json", WEIGHTS))
        (tmp_path / "o.json").write_text("[1]")
        with pytest.raises(FormatError, match=r"o.json: holds a JSON list, expected an object"):
            polyseme.load((tmp_path / "o.json", WEIGHTS))
        (tmp_path / "o.json").write_bytes(b"\xff\xfe{")
        with pytest.raises(FormatError, match=r"o.json: byte 0 is not UTF-8"):
            polyseme.load((tmp_path / "o.json", WEIGHTS))

    @pytest.mark.parametrize(
        "name", ["../model.hdf5", "/model.hdf5", "a/../../model.hdf5", "C:/model.hdf5", "..\\m.hdf5"]
    )
    def test_a_zip_entry_that_points_outside(self, name: str, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            archive.write(OPTIONS, "options.json")
            archive.writestr(name, WEIGHTS.read_bytes())
        with pytest.raises(FormatError, match=r"points outside the archive; refused as unsafe"):
            polyseme.load(tmp_path / "bad.zip")

    def test_a_damaged_zip(self, tmp_path: Path) -> None:
        shutil.make_archive(str(tmp_path / "whole"), "zip", TWO)
        whole = (tmp_path / "whole.zip").read_bytes()
        (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(FormatError, match=r"cut.zip: a damaged or truncated zip"):
            polyseme.load(tmp_path / "cut.zip")
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0xFF
        (tmp_path / "flipped.zip").write_bytes(flipped)
        with pytest.raises(FormatError, match=r"flipped.zip!weights.hdf5: a damaged zip entry"):
            polyseme.load(tmp_path / "flipped.zip")

    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_an_entry_with_changed_bytes(self, compression: int, tmp_path: Path) -> None:
        path = tmp_path / "model.zip"
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.write(OPTIONS, "options.json")
            archive.write(WEIGHTS, "weights.hdf5")
            start = archive.getinfo("weights.hdf5").header_offset
        data = bytearray(path.read_bytes())
        for at in (60, 9000):  # within the entry's first bytes, and in its middle
            changed = bytearray(data)
            changed[start + at : start + at + 30] = b"\xff" * 30
            path.write_bytes(changed)
            with pytest.raises(FormatError, match=r"model.zip.*(damaged|no known model|not an HDF5 file)"):
                polyseme.load(path)

    def test_an_encrypted_zip(self, tmp_path: Path) -> None:
        path = tmp_path / "model.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(OPTIONS, "options.json")
        data = bytearray(path.read_bytes())
        data[6] |= 1  # the flag of encryption, in the entry and in the directory
        data[data.index(b"PK\x01\x02") + 8] |= 1
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"options.json: encrypted or packed in an unknown way"):
            polyseme.load(path)

    def test_a_zip_that_unpacks_to_too_much(self, tmp_path: Path) -> None:
        path = tmp_path / "bomb.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(OPTIONS, "options.json")
            archive.writestr("weights.hdf5", HDF5_SIGNATURE + bytes(64 << 20))
        with pytest.raises(FormatError, match=r"weights.hdf5: .* more than 20 times as many; refused as unsafe"):
            polyseme.load(path)

    def test_a_zip_of_two_models(self, tmp_path: Path) -> None:
        path = tmp_path / "two.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for inside in ("english", "norwegian"):
                archive.write(OPTIONS, f"{inside}/options.json")
                archive.write(WEIGHTS, f"{inside}/{inside}.hdf5")
        with pytest.raises(
            InputError,
            match=r"two.zip: options.json is in it 2 times \(english/options.json, norwegian/options.json\), expec",
        ):
            polyseme.load(path)

    def test_what_macos_leaves_in_a_zip(self, tmp_path: Path, expected: np.ndarray) -> None:
        path = tmp_path / "mac.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(OPTIONS, "model/options.json")
            archive.write(WEIGHTS, "model/weights.hdf5")
            for name in ("__MACOSX/model/options.json", "model/._options.json", "__MACOSX/model/._weights.hdf5"):
                archive.writestr(name, b"\0\5\x16\7")
        np.testing.assert_array_equal(polyseme.load(path).embed(SENTENCE)[0], expected)

    def test_a_device_without_numbers(self) -> None:
        with pytest.raises(InputError, match=r"^device 'meta' cannot be used \(it holds no numbers\); try 'cpu'$"):
            polyseme.load((OPTIONS, WEIGHTS), device="meta")

    @pytest.mark.parametrize("text", ['{"lstm": {"dim"', "[" * 100_000, "[1]"])
    def test_damaged_options_are_named(self, text: str, tmp_path: Path) -> None:
        shutil.copy(WEIGHTS, tmp_path)
        (tmp_path / "options.json").write_text(text)
        with pytest.raises(FormatError, match=r"options.json: (not JSON|holds a JSON list)"):
            polyseme.load(tmp_path)

    def test_a_file_or_folder_that_may_not_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def closed(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        shutil.copytree(TWO, tmp_path / "model")
        monkeypatch.setattr(Path, "open", closed)
        with pytest.raises(InputError, match=r"weights.hdf5: cannot be read \(Permission denied\)"):
            polyseme.load(tmp_path / "model/weights.hdf5")
        with pytest.raises(InputError, match=r"options.json: cannot be read \(Permission denied\)"):
            polyseme.load((OPTIONS, WEIGHTS))
        monkeypatch.setattr(Path, "iterdir", closed)
        with pytest.raises(InputError, match=r"model: cannot be read \(Permission denied\)"):
            polyseme.load(tmp_path / "model")

    def test_parts_that_belong_to_no_such_format(self, tmp_path: Path) -> None:
        native.write(tiny_model(), tmp_path / "native")
        (tmp_path / "vocab.txt").write_text("<UNK>\n")
        with pytest.raises(InputError, match=r"a polyseme model carries its own vocabulary; leave it out"):
            polyseme.load(tmp_path / "native", vocabulary=tmp_path / "vocab.txt")

    def test_precision(self) -> None:
        with pytest.raises(InputError, match=r"unknown precision 'float8'"):
            polyseme.load(TWO, precision="float8")  # type: ignore[arg-type]


ADDRESS = "https://example.org/elmo/weights.hdf5"


@pytest.mark.parametrize(
    ("path", "extra"),
    [
        (ADDRESS, {}),
        (Path(ADDRESS), {}),
        ((OPTIONS, ADDRESS), {}),
        ((ADDRESS, WEIGHTS), {}),
        (TWO, {"softmax": ADDRESS}),
        (TWO, {"vocabulary": ADDRESS}),
    ],
)
def test_an_address_is_not_fetched(path: Any, extra: dict[str, str]) -> None:
    with pytest.raises(InputError) as error:
        open_model(path, **extra)
    assert str(error.value) == (
        f"{ADDRESS}: a web address; nothing is downloaded, fetch the file yourself and give its path"
    )


def test_a_colon_in_a_path_is_no_address(tmp_path: Path, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(TWO, tmp_path / "en:" / "model")
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(polyseme.load("en:/model").embed(SENTENCE)[0], expected)

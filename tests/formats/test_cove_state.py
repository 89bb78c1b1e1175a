"""CoVe as published: a state dict and word vectors, in all the ways they are given."""

from pathlib import Path

import pytest
import torch
from tiny import tiny_model
from tiny_cove import WORDS, tiny_cove, tiny_lstm, tiny_vectors

import polyseme
from polyseme.errors import FormatError, InputError
from polyseme.formats import cove_folder, cove_state, native, word_vectors
from polyseme.formats.detect import open_model
from polyseme.models.mt_lstm import MtLstmConfig
from polyseme.models.static import WordVectors


def published(folder: Path, *, dim: int = 4, words: tuple[str, ...] = WORDS) -> tuple[Path, Path]:
    """Write cove.pth and glove.txt."""
    folder.mkdir(exist_ok=True)
    torch.save(tiny_lstm().state_dict(), folder / "cove.pth")
    vectors = tiny_vectors(dim)
    lines = [f"{word} {' '.join(f'{x:.9g}' for x in row)}\n" for word, row in zip(words, vectors.tolist(), strict=True)]
    (folder / "glove.txt").write_text("".join(lines))
    return folder / "cove.pth", folder / "glove.txt"


def test_the_published_layout_is_opened_in_every_way(tmp_path: Path) -> None:
    weights, vectors = published(tmp_path / "given")
    expected = tiny_cove().fingerprint()
    for path in ((weights, vectors), (vectors, weights), tmp_path / "given", weights):
        assert open_model(path).fingerprint() == expected
    word_vectors.write(word_vectors.read(vectors), tmp_path / "folder")
    opened = polyseme.load((str(weights), str(tmp_path / "folder")))
    assert opened.fingerprint() == expected
    assert opened.path == (str(weights), str(tmp_path / "folder"))


def test_the_state_dict_of_a_whole_module_is_read_too(tmp_path: Path) -> None:
    weights, vectors = published(tmp_path)
    torch.save({f"rnn.{name}": tensor.half() for name, tensor in tiny_lstm().state_dict().items()}, weights)
    state = open_model((weights, vectors)).network.state_dict()
    assert torch.equal(state["lstm.bias_hh_l1_reverse"], tiny_lstm().state_dict()["bias_hh_l1_reverse"].half().float())


def test_words_are_looked_up_in_lower_case_only_if_the_vectors_are_lower_case(tmp_path: Path) -> None:
    for name, words in (("cased", WORDS), ("lower", tuple(word.lower() for word in WORDS))):
        config = open_model(published(tmp_path / name, words=words)).config
        assert isinstance(config, MtLstmConfig)
        assert config.case_backoff == (name == "lower")


def test_written_as_published_and_read_back(tmp_path: Path) -> None:
    model = tiny_cove()
    cove_state.write(model, tmp_path / "again")
    assert open_model(tmp_path / "again").fingerprint() == model.fingerprint()
    cove_folder.write(open_model(tmp_path / "again"), tmp_path / "folder")
    assert open_model(tmp_path / "folder").fingerprint() == model.fingerprint()
    with pytest.raises(InputError, match=r"the model \(polyseme\) is not CoVe"):
        cove_state.write(tiny_model(), tmp_path / "bilm")


def test_words_that_text_cannot_hold_are_refused(tmp_path: Path) -> None:
    table = WordVectors([" a"], tiny_vectors()[:1].numpy())
    with pytest.raises(InputError, match="word 0 is ' a', which a line of text cannot hold"):
        word_vectors.write_text(table, tmp_path / "vectors.txt")
    assert not list(tmp_path.iterdir())


def test_vectors_of_another_width_are_refused(tmp_path: Path) -> None:
    weights, vectors = published(tmp_path, dim=5)
    with pytest.raises(FormatError, match=r"glove.txt: vectors of width 5, but .*cove.pth reads vectors of width 4; "):
        open_model((weights, vectors))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight_hh_l1": torch.ones(16, 3)}, r"cove.pth: weight_hh_l1 is \(16, 3\), expected \(16, 4\) for a bidirec"),
        ({"weight_ih_l1": torch.ones(16, 4)}, r"cove.pth: weight_ih_l1 is \(16, 4\), expected \(16, 8\) for a bidirec"),
        ({"weight_ih_l0": torch.ones(15, 4)}, r"cove.pth: weight_ih_l0 is \(15, 4\), expected \(4 x cells, width of a"),
        ({"weight_hr_l0": torch.ones(2, 4)}, r"weight_hr_l0 is no tensor of a bidirectional LSTM of 2 layers, 4 numb"),
        ({"bias_ih_l0_reverse": None}, r"no bias_ih_l0_reverse; expected a bidirectional LSTM of 2 layers, .*\(16\)"),
        ({"weight_ih_l0": None}, r"no tensors weight_ih_l0 \(it holds weight_hh_l0, .*\); expected the state dict of"),
        ({"bias_hh_l1": torch.full((16,), float("nan"))}, r"cove.pth: bias_hh_l1 holds NaN or infinity"),
    ],
)
def test_a_state_dict_of_another_shape_is_refused(
    tmp_path: Path, change: dict[str, torch.Tensor | None], message: str
) -> None:
    weights, vectors = published(tmp_path)
    changed = {**tiny_lstm().state_dict(), **change}
    torch.save({name: tensor for name, tensor in changed.items() if tensor is not None}, weights)
    with pytest.raises(FormatError, match=message):
        open_model((weights, vectors))


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path) -> None:
    weights, vectors = published(tmp_path)
    torch.save({"weight_ih_l0": print}, weights)
    with pytest.raises(FormatError, match=r"cove.pth: holds more than tensors, and loading it could run code; refused"):
        open_model((weights, vectors))


def test_missing_and_surplus_files_are_named(tmp_path: Path) -> None:
    weights, vectors = published(tmp_path)
    with pytest.raises(InputError, match=r"absent: no such file or folder; expected the word vectors that .*cove.pth"):
        open_model((weights, tmp_path / "absent"))
    with pytest.raises(InputError, match=r"a cove model has no vocabulary; leave it out"):
        open_model((weights, vectors), vocabulary=vectors)
    native.write(tiny_model(), tmp_path / "bilm")
    with pytest.raises(InputError, match=r"bilm: no weights saved by torch, to which the vectors .*glove.txt could"):
        open_model((tmp_path / "bilm", vectors))
    vectors.unlink()
    with pytest.raises(InputError, match=r"cove.pth: weights saved by torch without their word vectors \(0 files next"):
        open_model(weights)

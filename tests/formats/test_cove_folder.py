"""The native CoVe folder: written, read back, damaged."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import tiny_model
from tiny_cove import WORDS, tiny_cove

from polyseme.embed.embedder import Embedder
from polyseme.errors import FormatError, InputError
from polyseme.formats import cove_folder
from polyseme.formats.files import Files
from polyseme.text.segmentation import Segmentation

SENTENCES = [["the", "river", "bank"], ["Unseen"], []]


def test_a_folder_brings_the_same_model_back(tmp_path: Path) -> None:
    model = tiny_cove(hidden_dim=6, case_backoff=True)
    cove_folder.write(model, tmp_path / "cove")
    again = cove_folder.read(Files.folder(tmp_path / "cove"))
    assert again.fingerprint() == model.fingerprint()
    assert again.config == model.config
    for name, tensor in model.network.state_dict().items():
        assert torch.equal(again.network.state_dict()[name], tensor)
    ours, theirs = (Embedder(one).embed(SENTENCES) for one in (model, again))
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    assert not again.network.training


def test_rounded_weights_are_read_as_float32(tmp_path: Path) -> None:
    model = tiny_cove(hidden_dim=64, input_dim=64)
    cove_folder.write(model, tmp_path / "cove", storage="bfloat16")
    again = cove_folder.read(Files.folder(tmp_path / "cove"))
    name = "lstm.weight_ih_l1"
    assert torch.equal(again.network.state_dict()[name], model.network.state_dict()[name].bfloat16().float())
    assert again.fingerprint() != model.fingerprint()


def test_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"the model \(polyseme\) is not CoVe, which is needed here; give a CoVe model"
    ):
        cove_folder.write(tiny_model(), tmp_path / "cove")


def test_words_that_a_line_cannot_hold_are_refused(tmp_path: Path) -> None:
    model = tiny_cove()
    broken = replace(model, indexer=type(model.indexer)(("a\nb", *WORDS[1:]), case_backoff=False))  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"word 0 is 'a\\nb', which words.txt cannot hold"):
        cove_folder.write(broken, tmp_path / "cove")
    assert not (tmp_path / "cove").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("words.txt", "the\nriver\n", r"cove: words.txt has 2 whole lines, but config.json says 6 words"),
        ("words.txt", "the\n" * 6, r"words.txt: the word 'the' occurs twice; expected each word once"),
        ("config.json", '{"format": "polyseme cove"}', r"config.json: words: is missing"),
        ("model.safetensors", "no", r"model.safetensors: not a safetensors file, or a truncated one"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    cove_folder.write(tiny_cove(), tmp_path / "cove")
    (tmp_path / "cove" / name).write_text(content)
    with pytest.raises(FormatError, match=message):
        cove_folder.read(Files.folder(tmp_path / "cove"))


def test_a_tensor_of_another_shape_is_named(tmp_path: Path) -> None:
    cove_folder.write(tiny_cove(), tmp_path / "cove")
    path = tmp_path / "cove" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_dim": 5}))
    message = r"model.safetensors: lstm.weight_ih_l0 is \(16, 4\), its configuration asks for \(20, 4\)"
    with pytest.raises(FormatError, match=message):
        cove_folder.read(Files.folder(tmp_path / "cove"))


def test_the_segmentation_is_kept(tmp_path: Path) -> None:
    model = tiny_cove()
    config = model.config.model_copy(update={"tokenize": "en"})  # type: ignore[attr-defined]
    cove_folder.write(replace(model, config=config), tmp_path / "cove")
    assert cove_folder.read(Files.folder(tmp_path / "cove")).segmentation == Segmentation("en")

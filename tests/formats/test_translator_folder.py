"""The folder of a translator, whole and damaged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny_translator import tiny_translator

import polyseme
from polyseme.errors import FormatError, InputError
from polyseme.formats import translator_folder

SENTENCES = [["one", "two", "zzz"], ["eight"]]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    model = tiny_translator()
    translator_folder.write(model, tmp_path / "model")
    again = translator_folder.read(tmp_path / "model")
    assert again.translate(SENTENCES, beam=3) == model.translate(SENTENCES, beam=3)
    assert (again.source, again.target) == (model.source, model.target)
    cove, whole = (polyseme.load(path).embed(SENTENCES)[0] for path in (tmp_path / "model/cove", tmp_path / "model"))
    assert cove.shape == (3, 3, 10)
    assert (cove == whole).all()  # of a translator, the encoder gives the vectors


def test_weights_are_replaced_in_both_places(tmp_path: Path) -> None:
    model = tiny_translator()
    translator_folder.write(model, tmp_path / "model")
    before = polyseme.load(tmp_path / "model/cove").embed(SENTENCES)[0]
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.add_(0.1)
    translator_folder.replace_weights(model, tmp_path / "model")
    assert translator_folder.read(tmp_path / "model").translate(SENTENCES) == model.translate(SENTENCES)
    assert (polyseme.load(tmp_path / "model/cove").embed(SENTENCES)[0] != before).any()


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such folder; give one that polyseme cove train wrote"):
        translator_folder.read(tmp_path / "none")
    with pytest.raises(InputError, match="is not a translator; give a folder that polyseme cove train wrote"):
        translator_folder.read(tmp_path)
    folder = tmp_path / "model"
    translator_folder.write(tiny_translator(), folder)
    cases: list[tuple[str, Callable[[bytes], bytes], str]] = [
        ("config.json", lambda data: data.replace(b'"decoder_dim": 6', b'"decoder_dim": 7'), "decoder.* asks for"),
        ("config.json", lambda data: data.replace(b'"version": 1', b'"version": 9'), "config.json: version: "),
        ("config.json", lambda data: data.replace(b'"vector_dim": 5', b'"vector_dim": 4'), "vectors of width 5, but"),
        ("model.safetensors", lambda data: data[:100], "model.safetensors: not a safetensors file, or a truncated one"),
        ("vocabulary.txt", lambda data: data[:-5], "vocabulary.txt: 10 words but config.json says 11"),
    ]
    for name, change, message in cases:
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(change(kept))
        with pytest.raises(FormatError, match=message):
            translator_folder.read(folder)
        (folder / name).write_bytes(kept)
    assert json.loads((folder / "config.json").read_text())["format"] == "polyseme translator"
    (folder / "cove").rename(folder / "gone")
    with pytest.raises(FormatError, match="cove: missing; get the whole folder again"):
        translator_folder.read(folder)

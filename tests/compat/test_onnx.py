"""A biLM in onnxruntime gives our layers, for every kind of input, batch and length."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import GOLDEN, Command, refused
from tiny import tiny_model

from polyseme.compat.onnx import export
from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError, MissingPart
from polyseme.formats.detect import open_model
from polyseme.models.model import Model

SENTENCES = [["The", "river", "bank", "was", "wet", "."], ["Yes"], ["银行", "x" * 70, "𝒳", "naïve"] * 4, []]
MODELS: dict[str, Callable[[], Model]] = {
    "bytes": lambda: open_model("english-small"),
    "characters": lambda: open_model("chinese-small"),
    "two layers": lambda: open_model(GOLDEN / "allennlp" / "two_layers"),
    "ELMoForManyLangs": lambda: open_model(GOLDEN / "many_langs" / "characters"),
    "ELMoForManyLangs with words": lambda: open_model(GOLDEN / "many_langs" / "words_and_characters"),
    "tiny": tiny_model,
}


def code_of(folder: Path) -> dict[str, object]:
    """Run the code in the README of an exported folder, as a reader would."""
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    return names


def check(model: Model, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(model, folder)
    onnx.checker.check_model(folder / "model.onnx", full_check=True)
    monkeypatch.chdir(folder)
    names = code_of(folder)
    found = names["run"](names["session"], SENTENCES)  # type: ignore[operator]
    for ours, theirs in zip(Embedder(model).embed(SENTENCES), found, strict=True):
        # Layer 0 of the bundled models has values up to 11, where float32 itself has steps of 1e-6.
        assert (np.abs(theirs - ours) <= 1e-5 * np.maximum(1, np.abs(ours))).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_readme_of_the_folder_gives_our_layers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(MODELS[name](), tmp_path / "onnx", monkeypatch)


def test_padding_and_neighbours_change_nothing(tmp_path: Path) -> None:
    model = tiny_model()
    export(model, tmp_path / "onnx")
    session = onnxruntime.InferenceSession(tmp_path / "onnx" / "model.onnx")
    ids = model.indexer.ids(SENTENCES[0])[None]
    alone = session.run(None, {"ids": ids, "lengths": np.array([6])})[0]
    for filling in (-1, 0, 7):
        padded = np.full((3, 9, model.indexer.width), filling, dtype=np.int64)
        padded[1, :6] = ids
        padded[2, :] = model.indexer.ids(["word"])
        together = session.run(None, {"ids": padded, "lengths": np.array([0, 6, 9])})[0]
        np.testing.assert_allclose(together[:, 1, :6], alone[:, 0], atol=1e-6)
        assert not together[:, 1, 6:].any()
        assert not together[:, 0].any()


def test_the_same_model_makes_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(open_model(GOLDEN / "allennlp" / "two_layers"), tmp_path / name)
    assert (tmp_path / "one" / "model.onnx").read_bytes() == (tmp_path / "two" / "model.onnx").read_bytes()


def test_convert_writes_it(run: Command, tmp_path: Path) -> None:
    done = run("convert", GOLDEN / "allennlp" / "two_layers", tmp_path / "onnx", "--to", "onnx")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == ["README.md", "model.onnx"]
    refused(
        run("convert", "english-small", tmp_path / "new", "--to", "onnx", "--weights", "int8"),
        "an ONNX model is float32, not int8; leave out --weights, or --to onnx",
    )


def test_a_folder_that_exists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        export(tiny_model(), tmp_path)


def test_without_onnx_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "polyseme.compat.onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPart) as caught:
        __import__("polyseme.compat.onnx")
    assert str(caught.value) == (
        "writing ONNX needs the package onnx, which is not installed; pip install 'polyseme[onnx]'"
    )

"""What a run computes in, with and without kernels."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from chains import MINI, Chain, write

from polyseme.errors import InputError
from polyseme.nn import backend
from polyseme.nn.kernels.packed import Precision
from polyseme.progress import Figure, Watcher
from polyseme.train.engine import precision
from polyseme.train.engine.distributed import World
from polyseme.train.engine.precision import with_precision, without_kernel
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import PRESETS, settings_of

OPEN: dict[str, Any] = {name: value for name, value in MINI.items() if name != "precision"} | {"updates": 2}


class _Notes(Watcher):
    """Keeps what is said, and breaks off after the first update where it is to."""

    def __init__(self, *, cut: bool = False) -> None:
        self.cut, self.notes = cut, list[str]()

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        if self.cut and "update" in figures:
            raise RuntimeError("power cut")

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write(tmp_path / "text.txt", Chain().sentences(60, seed=1))


def _machine(monkeypatch: pytest.MonkeyPatch, *kernels: Precision) -> None:
    """A machine with kernels for these; where there are none torch computes."""

    def choose(wanted: Precision, **_: Any) -> str:
        return "kernels" if wanted in kernels else "torch"

    monkeypatch.setattr(precision, "choose_backend", choose)
    monkeypatch.setattr(backend, "available", lambda wanted: False)


def _card(output: Path) -> str:
    return (output / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("preset", PRESETS)
def test_auto_is_bfloat16_where_it_is_fast(preset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(preset)
    assert settings.precision == "auto"
    gpu = World(device=torch.device("meta"))
    _machine(monkeypatch, "float32", "bfloat16", "int8")
    assert with_precision(settings, World()).precision == "bfloat16"
    _machine(monkeypatch, "float32")
    assert with_precision(settings, World()).precision == "float32"
    assert with_precision(settings, gpu).precision == "bfloat16"
    assert with_precision(settings_of(preset, precision="bfloat16"), World()).precision == "bfloat16"
    assert without_kernel(with_precision(settings, gpu), gpu) is None


def test_what_auto_became_is_kept_on_another_machine(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "model"
    _machine(monkeypatch, "float32")
    watcher = _Notes(cut=True)
    with pytest.raises(RuntimeError, match="power cut"):
        train(text, output, watcher=watcher, **OPEN)
    assert watcher.notes == []
    stored = json.loads((tmp_path / "model.training" / "run.json").read_text(encoding="utf-8"))
    assert stored["settings"]["precision"] == "float32"
    _machine(monkeypatch, "float32", "bfloat16")
    with pytest.raises(InputError, match=r"this run was begun with precision 'float32', not 'bfloat16'; resume it"):
        train(text, output, resume=True, precision="bfloat16")
    assert train(text, output, resume=True, **OPEN, precision="auto").finished
    assert "- precision: float32\n" in _card(output)


def test_a_run_that_was_begun_in_bfloat16_goes_on_in_it_and_says_that_it_is_slow(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "model"
    said = "precision bfloat16 has no kernel on this machine: torch computes it, several times slower; float32 has one"
    _machine(monkeypatch, "float32")
    watcher = _Notes(cut=True)
    with pytest.raises(RuntimeError, match="power cut"):
        train(text, output, watcher=watcher, **OPEN, precision="bfloat16")
    assert watcher.notes == [said]
    watcher = _Notes()
    assert train(text, output, resume=True, watcher=watcher, **OPEN).finished  # the preset's auto does not contradict
    assert watcher.notes[0] == said
    assert "- precision: bfloat16\n" in _card(output)


def test_a_machine_without_any_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    _machine(monkeypatch)
    said = without_kernel(with_precision(settings_of(), World()), World())
    assert said == "precision float32 has no kernel on this machine: torch computes it, several times slower"

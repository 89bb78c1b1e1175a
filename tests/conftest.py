"""Paths and small helpers shared by the tests."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # no test depends on the speed of the machine
settings.load_profile("any machine")

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


def arrays(name: str) -> dict[str, Any]:
    """A golden .npz, read whole."""
    with np.load(GOLDEN / name) as stored:
        return dict(stored)


def batches(folder: str = "allennlp") -> list[list[list[str]]]:
    """The batches of sentences that the peers were run on."""
    found: list[list[list[str]]] = json.loads((GOLDEN / folder / "sentences.json").read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class Run:
    """What a command did."""

    code: int
    out: str
    err: str


class Command(Protocol):
    """What the fixture `run` gives."""

    def __call__(self, *arguments: object) -> Run: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command as a person would."""
    from polyseme.cli.main import main

    def call(*arguments: object) -> Run:
        monkeypatch.setattr(sys, "argv", ["polyseme", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Run(int(left.value.code or 0), captured.out, captured.err)

    return call


def refused(result: Run, message: str) -> None:
    """Exit 2, nothing on standard output, and one line that says what is wrong, perhaps after how text is cut."""
    lines = result.err.splitlines(keepends=True)
    if lines and lines[0].startswith("polyseme: the text is "):
        del lines[0]
    assert result.code == 2
    assert result.out == ""
    assert len(lines) == 1
    assert lines[0].endswith("\n")
    assert message in lines[0]
    assert "Traceback" not in result.err

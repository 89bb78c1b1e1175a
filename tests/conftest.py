"""Paths and small helpers shared by the tests."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
    return json.loads((GOLDEN / folder / "sentences.json").read_text(encoding="utf-8"))

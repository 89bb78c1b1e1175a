"""Perplexities of models with different vocabularies over the same words."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import WORDS, tiny_model

from benchmarks import same_words
from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.text.vocabulary import Vocabulary


def test_only_words_that_all_models_can_predict_count(tmp_path: Path) -> None:
    model = tiny_model()
    words = [word for word in WORDS if word not in ("<S>", "</S>", "<UNK>")]
    other = replace(model, vocabulary=Vocabulary([*(f"x-{word}" if word == words[0] else word for word in WORDS)]))
    native.write(model, tmp_path / "one")
    native.write(other, tmp_path / "two")
    sentences = [[words[0], words[1], "unheard", words[2]], [words[1]]]
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, sentences)) + "\n")
    scores = np.concatenate(Embedder(model).score(sentences))[[1, 3, 4]]
    forward, backward = np.exp(-scores.mean(axis=0))
    found = same_words.report(tmp_path / "text.txt", [str(tmp_path / "one"), str(tmp_path / "two")]).splitlines()
    assert found[0].startswith("60.0% of 5 words")
    for line, name in zip(found[-2:], ("one", "two"), strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[0] == str(tmp_path / name)
        shown = [float(cell) for cell in cells[1:]]
        assert shown == pytest.approx([forward, backward, (forward + backward) / 2], abs=0.051)
        assert all(map(math.isfinite, shown))


def test_a_model_without_words_to_predict_is_refused(tmp_path: Path) -> None:
    native.write(replace(tiny_model(), vocabulary=None), tmp_path / "one")
    (tmp_path / "text.txt").write_text("a\n")
    with pytest.raises(InputError, match="give models with a softmax"):
        same_words.report(tmp_path / "text.txt", [str(tmp_path / "one")])

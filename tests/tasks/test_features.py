"""Contextual vectors that are kept on disk."""

from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.progress import Watcher
from polyseme.tasks.choices import VectorLayers
from polyseme.tasks.features import Features, open_features
from polyseme.tasks.sentences import SentenceStore

SENTENCES = [("the", "river"), ("bank",), ("of", "the", "play"), ("the", "river"), ("a", "river", "bank")]


class _Counted(Embedder):
    """An embedder that counts the sentences it computes."""

    computed = 0

    def stream(self, sentences, *, layers="all"):  # type: ignore[no-untyped-def]
        for one in super().stream(sentences, layers=layers):
            self.computed += 1
            yield one


def _expected(source: Embedder, numbers: list[int], layers: VectorLayers) -> np.ndarray:
    store = SentenceStore(SENTENCES)
    found = source.embed([store.sentences[number] for number in numbers], layers=layers)
    return np.concatenate([one.swapaxes(0, 1) if layers == "all" else one[:, None] for one in found])


@pytest.mark.parametrize("layers", ["all", "top"])
def test_kept_vectors_are_computed_once(layers: VectorLayers, tmp_path: Path) -> None:
    source = _Counted(tiny_model())
    store = SentenceStore(SENTENCES)
    folder = tmp_path / "vectors"
    features, size = open_features(source, store, folder, layers=layers, budget=1 << 20, watcher=Watcher())
    assert source.computed == 4  # distinct sentences
    assert size == 9 * (3 if layers == "all" else 1) * 12 * 4
    again, _ = open_features(source, store, folder, layers=layers, budget=1 << 20, watcher=Watcher())
    numbers = [2, 0, 3, 0]
    for one in (features, again):
        assert np.array_equal(one.read(numbers), _expected(Embedder(tiny_model()), numbers, layers))
    assert source.computed == 4


def test_what_does_not_fit_is_computed_to_the_same_numbers(tmp_path: Path) -> None:
    source = _Counted(tiny_model())
    store = SentenceStore(SENTENCES)
    row = 3 * 12 * 4
    features, size = open_features(source, store, tmp_path / "v", layers="all", budget=4 * row, watcher=Watcher())
    assert size == 3 * row  # the first two sentences
    numbers = [3, 1, 2, 0]
    assert np.array_equal(features.read(numbers), Features(Embedder(tiny_model()), store).read(numbers))
    assert source.computed == 2 + 2


def test_half_precision_is_used_if_only_that_fits(tmp_path: Path) -> None:
    source, store = Embedder(tiny_model()), SentenceStore(SENTENCES)
    whole = 9 * 3 * 12 * 4
    features, size = open_features(source, store, tmp_path / "v", layers="all", budget=whole - 1, watcher=Watcher())
    assert size == whole // 2
    exact = _expected(source, [0, 1, 2, 3], "all")
    assert np.array_equal(features.read([0, 1, 2, 3]), exact.astype(np.float16).astype(np.float32))


def test_other_weights_have_another_file(tmp_path: Path) -> None:
    store = SentenceStore(SENTENCES)
    for seed in (0, 1):
        source = Embedder(tiny_model(seed=seed))
        features, _ = open_features(source, store, tmp_path / "v", layers="all", budget=1 << 20, watcher=Watcher())
        assert np.array_equal(features.read([1]), _expected(source, [1], "all"))
    assert len(list((tmp_path / "v").iterdir())) == 2

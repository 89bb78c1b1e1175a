"""Whitening by the spread within words, beside the closed form."""

import re

import numpy as np
import pytest

from polyseme.errors import InputError
from polyseme.index.whitening import SpreadWithinWords, Whitening

WORDS = np.array([0, 2, 0, 1, 2, 2, 0, 1, 0, 3, 2, 1] * 5)
SPREAD = np.diag([10.0, 1, 0.1]) @ np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
VECTORS = (np.random.default_rng(0).standard_normal((60, 3)) @ SPREAD + 50 * WORDS[:, None] + 7).astype(np.float32)


def fitted(shrinkage: float, *, blocks: int = 1) -> Whitening:
    spread = SpreadWithinWords(5, 3)  # one of the words never occurs
    for vectors, words in zip(np.array_split(VECTORS, blocks), np.array_split(WORDS, blocks), strict=True):
        spread.add(vectors, words)
    return spread.whitening(shrinkage)


def within() -> np.ndarray:
    """The covariance around the means of words, as its definition says."""
    total = np.zeros((3, 3))
    for word in range(4):
        some = VECTORS[word == WORDS].astype(np.float64)
        for row in some:
            total += np.outer(row - some.mean(axis=0), row - some.mean(axis=0))
    return total / (60 - 4)


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("blocks", [1, 7])
def test_it_is_the_inverse_root_of_the_shrunk_covariance(shrinkage: float, blocks: int) -> None:
    found = fitted(shrinkage, blocks=blocks)
    shrunk = (1 - shrinkage) * within() + shrinkage * np.trace(within()) / 3 * np.eye(3)
    assert found.matrix @ shrunk @ found.matrix == pytest.approx(np.eye(3), abs=2e-3)
    assert found.matrix == pytest.approx(found.matrix.T, abs=1e-6)
    assert found.centre == pytest.approx(VECTORS.mean(axis=0), rel=1e-4)


def test_whitened_vectors_are_of_unit_length() -> None:
    whitening = fitted(0.1)
    found = whitening(VECTORS)
    plain = (VECTORS - whitening.centre) @ whitening.matrix
    assert found == pytest.approx(plain / np.linalg.norm(plain, axis=1)[:, None], abs=1e-5)
    assert whitening(whitening.centre).tolist() == [0, 0, 0]


def test_words_whose_vectors_are_alike() -> None:
    spread = SpreadWithinWords(2, 3)
    spread.add(np.eye(3, dtype=np.float32)[[0, 0, 1]], np.array([0, 0, 1]))
    assert np.isfinite(spread.whitening().matrix).all()


def test_words_that_occur_once_have_no_spread() -> None:
    spread = SpreadWithinWords(3, 3)
    message = "no word occurs twice, and the spread within words is not known; give more text"
    with pytest.raises(InputError, match=re.escape(message)):
        spread.whitening()
    spread.add(np.eye(3, dtype=np.float32), np.arange(3))
    with pytest.raises(InputError, match=re.escape(message)):
        spread.whitening()

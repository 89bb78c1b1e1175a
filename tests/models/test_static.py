"""The table of word vectors, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.models import static
from polyseme.models.static import WordVectors


def table(words: int = 300, dim: int = 7) -> WordVectors:
    matrix = np.random.default_rng(3).standard_normal((words, dim)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(words)], matrix)


@pytest.mark.parametrize(
    ("word", "found"),
    [("the", "the"), ("The", "the"), ("THE", "the"), ("london", "London"), ("LONDON", "London"), ("usa", "USA"),
     ("Usa", "USA"), ("Rome", "Rome"), ("rome", "rome"), ("ROME", "rome"), ("", None), ("xyz", None)],
)  # fmt: skip
def test_case_back_off(word: str, found: str | None) -> None:
    words = ["the", "London", "USA", "Rome", "rome"]
    vectors = WordVectors(words, np.eye(5, dtype=np.float32))
    assert vectors.find(word) == (None if found is None else words.index(found))
    assert vectors.find(word, case_backoff=False) == (words.index(word) if word in words else None)


def test_nearest_agrees_with_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_BLOCK", 64)  # lengths are then put together from several blocks
    vectors = table()
    query = vectors.matrix[5].astype(float)
    cosines = []
    for word, row in zip(vectors.words, vectors.matrix.astype(float), strict=True):
        cosines.append((-(row @ query) / np.sqrt((row @ row) * (query @ query)), word))
    expected = [(word, -cosine) for cosine, word in sorted(cosines)]
    got = vectors.nearest(vectors.matrix[5], 20)
    assert [word for word, _ in got] == [word for word, _ in expected[:20]]
    np.testing.assert_allclose([cosine for _, cosine in got], [cosine for _, cosine in expected[:20]], atol=1e-6)
    assert [word for word, _ in vectors.nearest(vectors.matrix[5], 3, leave_out=5)] == [w for w, _ in expected[1:4]]
    assert len(vectors.nearest(vectors.matrix[5], 1000)) == 300
    assert len(vectors.nearest(vectors.matrix[5], 1000, leave_out=5)) == 299


@given(st.floats(1e-30, 1e30))
def test_the_length_of_a_query_does_not_matter(factor: float) -> None:
    vectors = table()
    plain, scaled = (vectors.nearest(vectors.matrix[0] * np.float32(f), 5) for f in (1, factor))
    assert [word for word, _ in plain] == [word for word, _ in scaled]


def test_of_equals_the_earlier_word_comes_first_and_zeros_are_far_from_everything() -> None:
    matrix = np.array([[0, 0], [2, 0], [1, 0], [-1, 0], [0, 1]], dtype=np.float32)
    vectors = WordVectors(["zero", "two", "one", "minus", "up"], matrix)
    assert vectors.nearest(matrix[2], 5) == [("two", 1.0), ("one", 1.0), ("zero", 0.0), ("up", 0.0), ("minus", -1.0)]
    for k in range(1, 5):  # also where the cut goes through equals
        assert vectors.nearest(matrix[2], k) == vectors.nearest(matrix[2], 5)[:k]
    assert WordVectors(["alone"], matrix[1:2]).nearest(matrix[1], 1, leave_out=0) == []


def test_mean_and_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_BLOCK", 64)
    vectors = table()
    np.testing.assert_allclose(vectors.mean, vectors.matrix.astype(float).mean(axis=0), atol=1e-6)
    assert vectors.scale == pytest.approx(np.sqrt((vectors.matrix.astype(float) ** 2).mean()))


def test_what_is_refused() -> None:
    one = np.ones((1, 2), dtype=np.float32)
    with pytest.raises(
        InputError, match=r"got 2 words and a float32 matrix of shape \(1, 2\); expected float32 of sha"
    ):
        WordVectors(["a", "b"], one)
    with pytest.raises(InputError, match="float64"):
        WordVectors(["a"], one.astype(float))
    with pytest.raises(InputError, match="at least one word and one number"):
        WordVectors([], one[:0])
    with pytest.raises(InputError, match="the word 'a' occurs twice"):
        WordVectors(["a", "b", "a"], np.ones((3, 2), dtype=np.float32))
    vectors = WordVectors(["a"], one)
    with pytest.raises(InputError, match="k is 0, expected at least 1"):
        vectors.nearest(one[0], 0)
    with pytest.raises(InputError, match=r"got a vector of shape \(3,\), expected \(2,\)"):
        vectors.nearest(np.ones(3, dtype=np.float32), 1)
    for value in (0, np.nan, np.inf):
        with pytest.raises(InputError, match="a vector of zeros, or with NaN or infinity"):
            vectors.nearest(one[0] * np.float32(value), 1)

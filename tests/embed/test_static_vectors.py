"""`StaticVectors`: words in, arrays out."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDEN

from polyseme import StaticVectors
from polyseme.errors import InputError
from polyseme.models.static import WordVectors

WORDS = ["the", "Rome", "river", "nil"]
MATRIX = np.array([[1, 2, 0], [0, 3, 1], [1, 1, 1], [0, 0, 0]], dtype=np.float32)
TABLE = WordVectors(WORDS, MATRIX)


def test_looking_up() -> None:
    vectors = StaticVectors(TABLE)
    assert (len(vectors), vectors.dim, vectors.words) == (4, 3, tuple(WORDS))
    assert "the" in vectors
    assert "The" in vectors
    assert "xyz" not in vectors
    assert (vectors["ROME"] == MATRIX[1]).all()
    vectors["the"][:] = 7  # a copy
    assert (vectors["the"] == MATRIX[0]).all()
    got = vectors.embed([["The", "river", "xyz"], []])
    assert (got[0] == [MATRIX[0], MATRIX[2], [0, 0, 0]]).all()
    assert [(array.shape, array.dtype) for array in got] == [
        ((3, 3), np.dtype(np.float32)),
        ((0, 3), np.dtype(np.float32)),
    ]
    assert repr(vectors) == "StaticVectors(words and a matrix, words=4, dim=3, unknown=zeros, case_backoff=True)"
    exact = StaticVectors(TABLE, case_backoff=False)
    assert "The" not in exact
    assert not exact["The"].any()


def test_unknown_words_as_the_mean() -> None:
    vectors = StaticVectors(TABLE, unknown="mean")
    np.testing.assert_allclose(vectors.embed([["xyz", "the"]])[0], [MATRIX.mean(axis=0), MATRIX[0]])


def test_unknown_words_at_random_are_the_same_each_time() -> None:
    matrix = 5 * np.random.default_rng(0).standard_normal((50, 2000)).astype(np.float32)
    vectors = StaticVectors(WordVectors(map(str, range(50)), matrix), unknown="random")
    one = vectors["xyz"]
    assert (vectors.embed([["abc", "xyz"]])[0][1] == one).all()
    assert (vectors["7"] == matrix[7]).all()
    other = vectors["xyzz"]
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.1
    assert one.std() == pytest.approx(5, rel=0.1)
    # Fixed for good: files that were made with them stay comparable.
    unit = StaticVectors(WordVectors(["a"], np.ones((1, 3), dtype=np.float32)), unknown="random")
    np.testing.assert_allclose(unit["曹操"], [-1.0530304, -1.0340854, -0.7314264], rtol=1e-6)
    assert unit["\ud800"].shape == (3,)  # half of a surrogate pair is a word too


def test_neighbours_are_those_of_gensim() -> None:
    expected = json.loads((GOLDEN / "gensim" / "expected.json").read_text(encoding="utf-8"))
    vectors = StaticVectors.load(GOLDEN / "gensim" / "vectors.bin")
    for word, neighbours in expected["nearest"].items():
        got = vectors.nearest(word, 4)
        assert [other for other, _ in got] == [other for other, _ in neighbours]
        np.testing.assert_allclose([cosine for _, cosine in got], [cosine for _, cosine in neighbours], atol=1e-6)
    assert vectors.nearest("THE", 1) == vectors.nearest("the", 1)
    ((word, cosine), _) = vectors.nearest(vectors["the"].tolist(), 2)
    assert word == "the"
    assert cosine == pytest.approx(1)


def test_saved_and_loaded(tmp_path: Path) -> None:
    StaticVectors(TABLE).save(tmp_path / "folder")
    again = StaticVectors.load(str(tmp_path / "folder"), unknown="mean", case_backoff=False, limit=2)
    assert again.words == ("the", "Rome")
    assert (again.unknown, again.case_backoff) == ("mean", False)
    assert (again["Rome"] == MATRIX[1]).all()
    np.testing.assert_allclose(again["rome"], MATRIX[:2].mean(axis=0))


def test_what_is_refused() -> None:
    vectors = StaticVectors(TABLE)
    with pytest.raises(InputError, match="unknown is 'skip', expected one of zeros, mean, random"):
        StaticVectors(TABLE, unknown="skip")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'xyz' is not among the 4 words; give another word"):
        vectors.nearest("xyz")
    with pytest.raises(InputError, match="the vector of 'nil' is all zeros"):
        vectors.nearest("nil")
    with pytest.raises(InputError, match=r"got \['the', 'river'\]; expected a word or a vector of numbers"):
        vectors.nearest(["the", "river"])
    with pytest.raises(InputError, match="sentence 0 is the string 'the river', not a list of tokens"):
        vectors.embed(["the river"])

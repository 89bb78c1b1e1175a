"""Searches in faiss beside plain products, in each compression and below and above the size that is clustered."""

from pathlib import Path

import numpy as np
import pytest

from polyseme.arrays import Vectors
from polyseme.errors import FormatError
from polyseme.index import vectors
from polyseme.index.choices import COMPRESSIONS, Compression

DIM, CLUSTERED = 8, 10_000
CLOSE: dict[Compression, float] = {"float16": 1e-4, "int8": 2e-3, "pq": 0.1}
"""How far similarities are from the true ones, on average."""


@pytest.fixture(scope="module")
def rows() -> Vectors:
    return vectors.unit(np.random.default_rng(2).standard_normal((12_000, DIM)).astype(np.float32))


@pytest.fixture(scope="module", params=[(kind, count) for kind in COMPRESSIONS for count in (300, 9_999, 12_000)])
def built(request: pytest.FixtureRequest, rows: Vectors) -> tuple[object, Vectors, float]:
    kind, count = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_CLUSTERED", CLUSTERED)
        index = vectors.build(rows[:count].astype(np.float16), kind)
    assert isinstance(index, vectors.faiss().IndexIVF) == (count >= CLUSTERED)
    return index, rows[:count], CLOSE[kind]


@pytest.mark.parametrize("kind", COMPRESSIONS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_one_of_a_few_vectors_is_kept(rows: Vectors, count: int, kind: Compression) -> None:
    few = rows[:count]
    index = vectors.build(few.astype(np.float16), kind)
    np.testing.assert_allclose(vectors.stored(index, np.arange(count)), few, atol=0.01)


@pytest.mark.parametrize("step", [2, 50])  # more than few are chosen, and fewer
def test_only_what_is_chosen_is_found_and_all_of_it(built: tuple[object, Vectors, float], step: int) -> None:
    index, rows, close = built
    only = np.arange(3, len(rows), step)
    query = rows[1]
    for exact in (False, True):
        similarities, numbers = vectors.search(index, query, 20_000, only=only, exact=exact)
        assert np.array_equal(np.sort(numbers), only)
        assert np.abs(similarities - rows[numbers] @ query).mean() < close
        assert (np.diff(similarities) <= 0).all()
    assert np.array_equal(vectors.search(index, query, 5, only=only, exact=True)[1], numbers[:5])


def test_what_does_not_count_is_not_found(built: tuple[object, Vectors, float]) -> None:
    index, rows, _ = built
    query, but = rows[1], np.arange(1, len(rows), 3)
    numbers = vectors.search(index, query, 100, but=but)[1]
    assert len(numbers) == 100
    assert not set(numbers.tolist()) & set(but.tolist())
    assert vectors.search(index, query, 3, but=np.arange(2, len(rows)))[1].tolist() == [1, 0]
    for options in ({"but": np.arange(len(rows))}, {"only": np.zeros(0, dtype=np.int64)}):
        similarities, numbers = vectors.search(index, query, 3, **options)  # type: ignore[arg-type]
        assert len(similarities) == len(numbers) == 0


def test_more_than_the_nearest_clusters_hold(built: tuple[object, Vectors, float]) -> None:
    index, rows, _ = built
    assert len(vectors.search(index, rows[0], len(rows) - 1)[1]) == len(rows) - 1
    assert np.array_equal(np.sort(vectors.search(index, rows[0], 20_000)[1]), np.arange(len(rows)))


def test_what_is_read_back_answers_as_what_was_built(built: tuple[object, Vectors, float], tmp_path: Path) -> None:
    index, rows, _ = built
    vectors.write(index, tmp_path / "vectors.faiss")
    opened = vectors.read(tmp_path / "vectors.faiss", count=len(rows), dim=DIM, advice="build it again")
    for query in rows[:5]:
        expected, found = vectors.search(index, query, 10), vectors.search(opened, query, 10)
        assert np.array_equal(expected[0], found[0])
        assert np.array_equal(expected[1], found[1])


def test_another_file(tmp_path: Path) -> None:
    (tmp_path / "vectors.faiss").write_bytes(b"no vectors")
    with pytest.raises(
        FormatError, match=r"vectors\.faiss: not 3 vectors of 8 numbers as faiss stores them .*; build it"
    ):
        vectors.read(tmp_path / "vectors.faiss", count=3, dim=DIM, advice="build it again")


def test_outliers_do_not_coarsen_the_rest() -> None:
    rows = np.random.default_rng(3).standard_normal((9999, DIM)).astype(np.float16)
    others = np.arange(1, 5000)
    errors = []
    for outlier in (1, 100):
        rows[[0, 5000]] = outlier
        errors.append(np.abs(vectors.stored(vectors.build(rows, "int8"), others) - rows[others]).mean())
    assert errors[1] == pytest.approx(errors[0], rel=0.2)


def test_zeros_have_no_direction() -> None:
    assert vectors.unit(np.array([[3, 4], [0, 0]], dtype=np.float32)) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))

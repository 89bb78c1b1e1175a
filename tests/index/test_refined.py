"""Product quantisation with a second comparison: what is found, in how much memory, and what damaged files do."""

from pathlib import Path

import numpy as np
import pytest

from polyseme.arrays import Vectors
from polyseme.errors import FormatError
from polyseme.index import vectors
from polyseme.index.manifest import CODES, SCALES, FileRecord, ShardRecord
from polyseme.index.refined import rounded
from polyseme.index.shard import Shard
from polyseme.index.shard_writer import ShardWriter

COUNT, DIM = 12_000, 32


@pytest.fixture(scope="module")
def rows() -> Vectors:
    """Vectors in loose groups, as those of words are."""
    draw = np.random.default_rng(1)
    spread = draw.standard_normal((50, DIM))[draw.integers(50, size=COUNT)] + draw.standard_normal((COUNT, DIM)) * 0.5
    return vectors.unit(spread.astype(np.float32))


@pytest.fixture(scope="module")
def written(rows: Vectors, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ShardRecord]:
    writer = ShardWriter(DIM)
    for start in range(0, COUNT, 10):
        writer.add([f"w{start % 70 + place}" for place in range(10)], range(10), rows[start : start + 10])
    folder = tmp_path_factory.mktemp("pq") / "shard-00000"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_CLUSTERED", 10_000)
        return folder, writer.write(folder, "pq")


def recall(shard: Shard, rows: Vectors) -> float:
    """The share of the ten nearest that is found, beside plain products."""
    hits = 0
    for query in rows[:60]:
        near = rows @ query
        numbers = shard.search(query, 10, only=None, but=None, exact=False)[1]
        hits += int((near[numbers] >= np.sort(near)[-10]).sum())
    return hits / 600


def test_nearly_all_is_found_with_few_bytes_in_memory(written: tuple[Path, ShardRecord], rows: Vectors) -> None:
    shard = Shard(*written, DIM, verify=True)
    assert recall(shard, rows) > 0.95
    # A cluster for every 110 vectors of 32 numbers, eight bytes of a code and eight of a number.
    assert written[1].files["vectors.faiss"].size / COUNT < 20
    np.testing.assert_allclose(shard.vectors(np.arange(COUNT)), rows, atol=0.004)


def test_what_counts_and_what_does_not(written: tuple[Path, ShardRecord], rows: Vectors) -> None:
    shard, query = Shard(*written, DIM, verify=False), rows[5]
    few, many = np.arange(3, COUNT, 50), np.arange(3, COUNT, 2)
    for only in (few, many):
        similarities, numbers = shard.search(query, 20, only=only, but=None, exact=True)
        expected = only[np.argsort(-(rows[only] @ query))[:20]]
        assert len(set(numbers.tolist()) & set(expected.tolist())) >= 19
        np.testing.assert_allclose(similarities, rows[numbers] @ query, atol=0.01)
        assert (np.diff(similarities) <= 0).all()
    assert not set(shard.search(query, 200, only=None, but=many, exact=False)[1].tolist()) & set(many.tolist())
    assert len(shard.search(query, COUNT + 5, only=None, but=None, exact=False)[1]) == COUNT


def test_an_index_from_before_is_still_read(written: tuple[Path, ShardRecord], rows: Vectors) -> None:
    folder, record = written
    files = {name: known for name, known in record.files.items() if name not in (CODES, SCALES)}
    old = Shard(folder, record.model_copy(update={"files": files}), DIM, verify=True)
    assert 0.2 < recall(old, rows) < 0.9
    assert ((old.vectors(np.arange(COUNT)) * rows).sum(axis=1) > 0.8).mean() > 0.9


def test_each_number_is_off_by_half_a_step(rows: Vectors) -> None:
    given = np.concatenate([rows[:100], np.zeros((1, DIM))]).astype(np.float16)
    codes, scales = rounded(given)
    assert codes.dtype == np.int8
    assert np.abs(codes[:100]).max(axis=1).tolist() == [127] * 100
    assert (np.abs(codes * scales[:, None] - given) <= scales[:, None] / 2 + 1e-7).all()


@pytest.mark.parametrize(
    ("dim", "parts"), [(256, 64), (1024, 64), (4096, 0), (300, 60), (512, 64), (12, 3), (7, 1), (298, 0)]
)
def test_how_a_vector_is_divided(dim: int, parts: int) -> None:
    assert vectors._sub_vectors(dim) == parts


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        (CODES, np.zeros((COUNT, DIM + 1), np.int8), r"int8 \(12000, 33\) where int8 \(12000, 32\) is expected"),
        (CODES, np.zeros((COUNT, DIM), np.float16), r"float16 \(12000, 32\) where int8 \(12000, 32\) is expected"),
        (SCALES, np.full(COUNT, np.nan, np.float32), r"not the scales of 12,000 unit vectors"),
        (SCALES, np.full(COUNT, 1e9, np.float32), r"not the scales of 12,000 unit vectors"),
    ],
)
def test_damage(written: tuple[Path, ShardRecord], rows: Vectors, name: str, array: np.ndarray, message: str) -> None:
    folder, record = written
    whole = (folder / name).read_bytes()
    np.save(folder / name, array)
    try:
        changed = {**record.files, name: FileRecord((folder / name).stat().st_size, 0)}
        shard = Shard(folder, record.model_copy(update={"files": changed}), DIM, verify=False)
        with pytest.raises(FormatError, match=rf"{name}: {message}; the index is damaged, build it again$"):
            shard.search(rows[0], 3, only=None, but=None, exact=False)
    finally:
        (folder / name).write_bytes(whole)

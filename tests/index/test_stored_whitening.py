"""An index searched after whitening, beside the same on vectors in memory; and how the whitening is kept."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import FormatError, InputError
from polyseme.files.checksum import crc32
from polyseme.files.lock import locked
from polyseme.index import stored_whitening
from polyseme.index.manifest import MANIFEST, WHITENING
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.whitening import SpreadWithinWords
from polyseme.study.sense_induction import induce_senses

WORDS = ["the", "river", "bank", "of", "money", "a", "play", "water", "cards", "loan"]
DRAW = np.random.default_rng(5)
SENTENCES = [[WORDS[number] for number in DRAW.integers(0, 10, 6)] for _ in range(40)]
QUERY = ["the", "bank", "of", "money"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


@pytest.fixture
def index(embedder: Embedder, tmp_path: Path) -> OccurrenceIndex:
    return OccurrenceIndex.build(embedder, SENTENCES, tmp_path / "index", shard_bytes=1000)


def all_vectors(index: OccurrenceIndex) -> tuple[list[str], np.ndarray]:
    """The word and the stored vector of every occurrence."""
    words, rows = [], []
    for word in sorted(index.counts):
        found, vectors = index.occurrences(word)
        words += [word] * len(found)
        rows.append(vectors)
    return words, np.concatenate(rows)


def test_it_is_fitted_on_the_occurrences(index: OccurrenceIndex) -> None:
    words, rows = all_vectors(index)
    spread = SpreadWithinWords(10, rows.shape[1])
    spread.add(rows, np.array([sorted(index.counts).index(word) for word in words]))
    assert index.whitening.matrix == pytest.approx(spread.whitening().matrix, rel=1e-3, abs=1e-3)
    assert index.whitening.centre == pytest.approx(spread.whitening().centre, abs=1e-6)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("words", ["any", "same", "other"])
def test_it_finds_what_a_plain_search_finds(index: OccurrenceIndex, words: str, exact: bool) -> None:
    names, rows = all_vectors(index)
    assert len(index) == 240
    cosines = index.whitening(rows) @ index.whitening(index.vector(QUERY, 1))
    counted = {"any": True, "same": np.array(names) == "bank", "other": np.array(names) != "bank"}[words]
    expected = np.sort(cosines[np.full(len(names), True) & counted])[::-1][:12]
    found = index.nearest(QUERY, 1, k=12, words=words, exact=exact, whiten=True)  # type: ignore[arg-type]
    assert [one.similarity for one in found] == pytest.approx(expected, abs=1e-4)
    plain = index.nearest(QUERY, 1, k=12, words=words, exact=exact)  # type: ignore[arg-type]
    assert [one.similarity for one in plain] != pytest.approx(expected, abs=1e-2)


def test_candidates_are_bounded_unless_the_search_is_exact(
    index: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = index.nearest(QUERY, 1, k=200, whiten=True)
    monkeypatch.setattr(stored_whitening, "_CANDIDATES", 3)
    monkeypatch.setattr(stored_whitening, "_PER_RESULT", 1)
    nearest = {tuple(one.sentence) for one in index.nearest(QUERY, 1, k=100)}
    assert {tuple(one.sentence) for one in index.nearest(QUERY, 1, k=2, whiten=True)} <= nearest
    exact = index.nearest(QUERY, 1, k=200, whiten=True, exact=True)
    assert [one.similarity for one in exact] == pytest.approx([one.similarity for one in every], abs=1e-5)
    grouped = index.nearest(QUERY, 1, k=10, group=True, whiten=True)
    assert sorted(one.word for one in grouped) == sorted(WORDS)


def test_it_is_stored_once_and_read_again(index: OccurrenceIndex, embedder: Embedder) -> None:
    fitted, manifest = index.whitening, index.path / MANIFEST
    size = (index.path / WHITENING).stat().st_size
    assert json.loads(manifest.read_text())["whitening"][0] == size
    before = manifest.read_bytes()
    again = OccurrenceIndex(index.path, embedder).whitening
    assert (again.matrix == fitted.matrix).all()
    assert (again.centre == fitted.centre).all()
    assert manifest.read_bytes() == before


def test_adding_text_asks_for_a_new_one(index: OccurrenceIndex, embedder: Embedder) -> None:
    first = index.whitening
    more = [["the", "boat", "bank"], ["a", "boat", "loan"]] * 20
    added = OccurrenceIndex.build(embedder, more, index.path, append=True)
    assert json.loads((index.path / MANIFEST).read_text())["whitening"] is None
    assert not np.allclose(added.whitening.matrix, first.matrix)
    assert (OccurrenceIndex(index.path, embedder).whitening.matrix == added.whitening.matrix).all()


def test_an_index_that_is_being_written_keeps_none(index: OccurrenceIndex, embedder: Embedder) -> None:
    with locked(index.path):
        assert index.nearest(QUERY, 1, k=1, whiten=True)
    assert not (index.path / WHITENING).exists()
    # Nor does one that got text while it was fitted.
    stale = OccurrenceIndex(index.path, embedder)
    OccurrenceIndex.build(embedder, SENTENCES[:3], index.path, append=True)
    assert stale.nearest(QUERY, 1, k=1, whiten=True)
    assert json.loads((index.path / MANIFEST).read_text())["whitening"] is None


def test_a_damaged_one_gets_one_line(index: OccurrenceIndex, embedder: Embedder) -> None:
    _ = index.whitening
    path = index.path / WHITENING
    whole = path.read_bytes()
    for damaged, message in [
        (whole[:-4] + b"abcd", "its bytes have changed since it was written"),
        (whole + b"a", "its bytes have changed since it was written"),
        (b"PK", "not an array of numpy"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=rf"whitening\.npy: {message}.*; the index is damaged, build it again"):
            _ = OccurrenceIndex(index.path, embedder).whitening
    path.unlink()
    with pytest.raises(FormatError, match=r"whitening\.npy: .*No such file"):
        _ = OccurrenceIndex(index.path, embedder).whitening


def test_another_array_is_refused(index: OccurrenceIndex, embedder: Embedder) -> None:
    path, manifest = index.path / WHITENING, index.path / MANIFEST
    for rows in (np.zeros((3, 2), np.float32), np.full((13, 12), np.nan, np.float32), np.zeros((13, 12))):
        np.save(path, rows)
        stored = json.loads(manifest.read_text())
        stored["whitening"] = [path.stat().st_size, crc32(path)]
        manifest.write_text(json.dumps(stored))
        with pytest.raises(FormatError, match=re.escape("whitening.npy: not 13 finite rows of 12 numbers")):
            _ = OccurrenceIndex(index.path, embedder).whitening


def test_words_that_occur_once(embedder: Embedder, tmp_path: Path) -> None:
    index = OccurrenceIndex.build(embedder, [["the", "river"]], tmp_path / "once")
    with pytest.raises(InputError, match=r"once: no word occurs twice, and the spread within words is not known"):
        index.nearest(["the", "river"], 1, whiten=True)


def test_senses_are_clustered_after_it(index: OccurrenceIndex) -> None:
    found = induce_senses(index, "bank", senses=2, whiten=True)
    _, plain = index.occurrences("bank")
    assert found.points == pytest.approx(index.whitening(plain), abs=1e-5)

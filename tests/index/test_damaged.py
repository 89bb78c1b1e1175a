"""An index that is damaged, or made up with right checksums, gets one line and no traceback."""

import contextlib
import io
import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import FormatError, PolysemeError
from polyseme.files.checksum import crc32
from polyseme.files.whole import JSON
from polyseme.index import vectors
from polyseme.index.choices import COMPRESSIONS, Compression
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.text.corpus import Corpus

V1 = Path(__file__).parents[1] / "golden" / "index_v1" / "index"
SENTENCES = [["The", "river", "bank"], ["She", "works", "at", "a", "bank"], ["漢字", "and", "😀"], ["A", "play"]]
QUERY = ["A", "bank", "by", "the", "river"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


@pytest.fixture
def index(tmp_path: Path) -> Path:
    shutil.copytree(V1, tmp_path / "index")
    return tmp_path / "index"


def use(folder: Path, embedder: Embedder) -> OccurrenceIndex:
    """Read everything there is."""
    index = OccurrenceIndex(folder, embedder)
    for words in ("any", "same", "other"):
        index.nearest(QUERY, 1, k=50, words=words)
    index.nearest(QUERY, 1, k=5, group=True)
    index.occurrences("bank")
    index.similar("bank", least=1)
    list(index.word_sums())
    return index


def change_manifest(folder: Path, change: Callable[[dict[str, JSON]], object]) -> None:
    manifest = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    change(manifest)
    (folder / "index.json").write_text(json.dumps(manifest), encoding="utf-8")


def replace(folder: Path, name: str, content: bytes) -> None:
    """Put other bytes into the first shard, with the right size and checksum in the manifest."""
    path = folder / "shard-00000" / name
    path.write_bytes(content)

    def enter(manifest: dict[str, Any]) -> None:
        manifest["shards"][0]["files"][name] = [len(content), crc32(path)]

    change_manifest(folder, enter)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_an_index_of_the_first_version_is_read_and_added_to(index: Path, embedder: Embedder) -> None:
    opened = use(index, embedder)
    assert len(opened) == 13
    assert (
        repr(opened)
        == f"OccurrenceIndex({str(index)!r}: 13 occurrences, 2 shards, layers='top', model='e598f123d1b5efd0')"
    )
    assert opened.counts["bank"] == 2
    for sentence in SENTENCES:
        for position, word in enumerate(sentence):
            best = opened.nearest(sentence, position, k=1)[0]
            assert (best.word, best.sentence, best.position) == (word, sentence, position)
            assert best.similarity == pytest.approx(1, abs=2e-3)
    more = OccurrenceIndex.build(embedder, [["A", "new", "bank"]], index, append=True)
    assert (len(more), more.counts["bank"]) == (16, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("model"), "model: is missing"),
        (lambda m: m.update(format="other"), "format: should be 'polyseme-index', got 'other'"),
        (lambda m: m.update(version=2), "version: should be 1, got 2"),
        (lambda m: m.update(dim="12"), "dim: should be a whole number, got '12'"),
        (lambda m: m.update(dim=0), "dim: should be at least 1, got 0"),
        (lambda m: m.update(dim=13), "not 11 vectors of 13 numbers as faiss stores them (the width is 12, expected 13"),
        (
            lambda m: m.update(precision="float64"),
            "precision: should be 'float32', 'bfloat16' or 'int8', got 'float64'",
        ),
        (lambda m: m.update(model_path=["a"]), "model_path"),
        (lambda m: m.update(tokenize="fr"), "tokenize: should be "),
        (lambda m: m.update(shards=[]), "shards: "),
        (lambda m: m.update(shards={"a": 1}), "shards: should be a list, got {'a': 1}"),
        (lambda m: m["shards"].append(m["shards"][0]), "shards: two shards have the same name"),
        (lambda m: m["shards"][0].update(name="../shard-00000"), "shards.0.name: "),
        (lambda m: m["shards"][0].update(name="shard-00000/../../x"), "shards.0.name: "),
        (lambda m: m["shards"][0].update(occurrences=12), "not 12 vectors of 12 numbers as faiss stores them"),
        (lambda m: m["shards"][0].update(sentences=2), "occurrences.npy: names a sentence or a word that is not there"),
        (lambda m: m["shards"][0].update(sentences=-2), "shards.0.sentences: should be at least"),
        (lambda m: m["shards"][0]["files"].pop("words.json"), "shards.0.files: 'words.json' is missing"),
        (lambda m: m["shards"][0]["files"].update({"../x": [1, 2]}), "shards.0.files: '../x' is not a file of a shard"),
        (lambda m: m["shards"][0]["files"].update({"sums.npy": [608]}), "shards.0.files.sums.npy"),
        (lambda m: m["shards"][0]["files"].update({"sums.npy": [608, "x"]}), "shards.0.files.sums.npy"),
        (lambda m: m["shards"][0].update(name="shard-00007"), "shard-00007/occurrences.npy: missing"),
    ],
)
def test_a_wrong_manifest(
    index: Path, embedder: Embedder, change: Callable[[dict[str, JSON]], object], message: str
) -> None:
    change_manifest(index, change)
    with pytest.raises(FormatError) as raised:
        use(index, embedder)
    assert message in str(raised.value)
    assert "build it again" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff", b'{"format": "polyseme-index"}']
)
def test_a_damaged_manifest_gets_one_line(run: Command, index: Path, content: bytes) -> None:
    (index / "index.json").write_bytes(content)
    result = run("nearest", index, "a [bank]")
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "index.json: " in result.err
    assert "the index is damaged, build it again" in result.err


OCCURRENCES = np.array([[0, 0, 0]] * 11, dtype=np.int32)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("words.json", b"", "words.json: cannot be read, empty or damaged"),
        ("words.json", b"[" * 50_000, "words.json: cannot be read, empty or damaged"),
        ("words.json", b'{"a": 1}', "words.json: not a list of distinct words"),
        ("words.json", b'["a", "a"]', "words.json: not a list of distinct words"),
        ("words.json", b'["a", 3]', "words.json: not a list of distinct words"),
        ("words.json", b'["a"]', "occurrences.npy: names a sentence or a word that is not there"),
        ("sentences.jsonl", b"x" * 87, "cannot be read"),
        ("sentences.jsonl", b"[" * 87, "cannot be read"),
        ("sentences.jsonl", b'"a"' + b" " * 84, "sentences.jsonl: sentence "),
        ("sentences.jsonl", b"[]" + b" " * 84, "sentences.npy: not the places of the sentences"),
        ("occurrences.npy", npy(OCCURRENCES.astype(np.int64)), "int64 (11, 3) where int32 (11, 3) is expected"),
        ("occurrences.npy", npy(OCCURRENCES[:5]), "int32 (5, 3) where int32 (11, 3) is expected"),
        ("occurrences.npy", npy(OCCURRENCES - 1), "names a sentence or a word that is not there"),
        ("occurrences.npy", npy(np.full_like(OCCURRENCES, (3, 0, 0))), "names a sentence or a word that is not there"),
        ("occurrences.npy", npy(np.full_like(OCCURRENCES, (0, 9, 0))), "is not a list of more than 9 tokens"),
        ("occurrences.npy", npy(np.array([{}] * 3, dtype=object)), "occurrences.npy: not an array of numpy"),
        ("occurrences.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118, "occurrences.npy: not an array of numpy"),
        ("sentences.npy", npy(np.array([0, 40, 20, 87])), "sentences.npy: not the places of the sentences"),
        ("sentences.npy", npy(np.array([0, 1, 2, 1 << 60])), "sentences.npy: not the places of the sentences"),
        ("sentences.npy", b"PK\x03\x04" + bytes(100), "sentences.npy: not an array of numpy"),
        ("sums.npy", npy(np.zeros((10, 11), dtype=np.float32)), "float32 (10, 11) where float32 (10, 12)"),
        ("sums.npy", npy(np.full((10, 12), np.nan, dtype=np.float32)), "sums.npy: not sums of 11 unit vectors"),
        ("sums.npy", npy(np.full((10, 12), 1e38, dtype=np.float32)), "sums.npy: not sums of 11 unit vectors"),
        ("sums.npy", b"", "sums.npy: not an array of numpy"),
        ("vectors.faiss", b"", "vectors.faiss: not 11 vectors of 12 numbers as faiss stores them (it ends too early)"),
        ("vectors.faiss", b"IxF2" + bytes(400), "vectors.faiss: not 11 vectors"),
    ],
)
def test_made_up_files_with_right_checksums(
    index: Path, embedder: Embedder, name: str, content: bytes, message: str
) -> None:
    replace(index, name, content)
    with pytest.raises(FormatError) as raised:
        use(index, embedder)
    assert message in str(raised.value)
    assert str(raised.value).endswith("the index is damaged, build it again")


@pytest.mark.parametrize("name", sorted(path.name for path in (V1 / "shard-00000").iterdir()))
def test_any_bytes_give_an_answer_or_one_line(name: str, embedder: Embedder, tmp_path: Path) -> None:
    whole, draw = (V1 / "shard-00000" / name).read_bytes(), np.random.default_rng(1)
    for number in range(60):
        folder = tmp_path / str(number)
        shutil.copytree(V1, folder)
        changed = bytearray(whole)
        for place in draw.integers(len(whole), size=1 + number % 4):
            changed[place] = draw.integers(256)
        replace(folder, name, bytes(changed[: len(changed) - (number % 3 == 0) * int(draw.integers(len(whole)))]))
        with contextlib.suppress(PolysemeError):  # and nothing else
            use(folder, embedder)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_sizes_in_a_file_of_clusters_are_not_believed(
    kind: Compression, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_CLUSTERED", 500)
    rows = vectors.unit(np.random.default_rng(1).standard_normal((600, 8)).astype(np.float32))
    path = tmp_path / "vectors.faiss"
    vectors.write(vectors.build(rows.astype(np.float16), kind), path)
    whole = path.read_bytes()
    assert whole[:4] == (b"IwPQ" if kind == "pq" else b"IwSq")
    assert vectors.read(path, count=600, dim=8, advice="").ntotal == 600
    # Every size of 8 bytes at the beginning, and those of the clusters, made enormous.
    lists = whole.index(b"ilar")
    for place in [*range(8, 110), *range(lists + 4, lists + 60)]:
        path.write_bytes(whole[:place] + struct.pack("<q", 1 << 40) + whole[place + 8 :])
        with contextlib.suppress(FormatError):  # or it is a centroid or an unused number
            found = vectors.read(path, count=600, dim=8, advice="build it again")
            assert len(vectors.search(found, rows[0], 5)[1]) <= 5
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(FormatError, match="it ends too early"):
            vectors.read(path, count=600, dim=8, advice="")
    path.write_bytes(whole + b"x")
    with pytest.raises(FormatError, match="1 bytes too many"):
        vectors.read(path, count=600, dim=8, advice="")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("places.npy", npy(np.full((2, 4), 9, dtype=np.int32)), "places.npy: names what is not in names.json"),
        ("places.npy", npy(np.full((2, 4), -2, dtype=np.int32)), "places.npy: names what is not in names.json"),
        (
            "places.npy",
            npy(np.zeros((2, 3), dtype=np.int32)),
            "places.npy: int32 (2, 3) where int32 (2, 4) is expected",
        ),
        ("names.json", b"[1]", "names.json: not a list of distinct words"),
    ],
)
def test_places_that_cannot_be(name: str, content: bytes, message: str, embedder: Embedder, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The river bank\nA play\n")
    index = OccurrenceIndex.build(embedder, Corpus([tmp_path / "text.txt"]), tmp_path / "index")
    assert [one.place.line for one in index.occurrences("play")[0]] == [2]
    replace(tmp_path / "index", name, content)
    with pytest.raises(FormatError, match=re.escape(message)):
        use(tmp_path / "index", embedder)
    (tmp_path / "index" / "shard-00000" / name).unlink()

    def leave_out(manifest: dict[str, Any]) -> None:
        del manifest["shards"][0]["files"][name]

    change_manifest(tmp_path / "index", leave_out)
    with pytest.raises(FormatError, match=f"'{name}' is missing"):
        use(tmp_path / "index", embedder)

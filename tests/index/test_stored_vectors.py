"""An index built from stored vectors is the index of the text that they were made from."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Command, refused
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.layers import LayerChoice
from polyseme.embed.stored_parts import open_stored
from polyseme.embed.stored_vectors import StoredVectors
from polyseme.embed.vectors_record import VectorsManifest, VectorsRecord, arranged
from polyseme.errors import FormatError, InputError
from polyseme.files.location import Location
from polyseme.formats import native
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.scale.parts import divide, find_files
from polyseme.scale.worker import Work, Worker
from polyseme.text.corpus import Corpus
from polyseme.text.segmentation import Segmentation

LINES = ["the river bank", "", "a play of money", "the money of the bank " * 30, "", "a river"] * 8


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "text" / name).write_text("\n".join(LINES) + "\n")
    return tmp_path / "text"


def write_parts(text: Path, folder: Path, layers: LayerChoice) -> Path:
    """What a run on Ray makes, without Ray."""
    folder.mkdir()
    embedder, segmentation = Embedder(tiny_model()), Segmentation(None)
    made = VectorsRecord.of(embedder, segmentation, layers=layers, pool=None, dtype="float32")
    worker = Worker(embedder, Work(made, layers, None, segmentation, Location.of(folder), 1))
    records = [worker.embed(part) for part in divide(find_files([str(text)], "auto"), None, 200)]
    placed = arranged([(record, (folder / record.name).stat().st_size) for record in records])
    manifest = VectorsManifest(
        made_with=made,
        sentences=sum(one.sentences for one in records),
        tokens=sum(one.tokens for one in records),
        instruction_sets={},
        parts=placed,
    )
    (folder / "_manifest.json").write_text(manifest.model_dump_json())
    return folder


def same_index(one: Path, two: Path) -> None:
    """Two indexes hold the same, byte by byte."""
    for shard in sorted(path for path in one.iterdir() if path.is_dir()):
        for path in shard.iterdir():
            assert path.read_bytes() == (two / shard.name / path.name).read_bytes(), path.name
    kept = [json.loads((folder / "index.json").read_text()) for folder in (one, two)]
    for name in ("model", "precision", "layers", "tokenize", "dictionary", "dim"):
        assert kept[0][name] == kept[1][name]


@pytest.mark.parametrize(("stored", "asked"), [("mean", None), ("top", "top"), ("all", "mean"), ("all", "1"), (1, "1")])
def test_the_index_is_that_of_the_text(
    text: Path, tmp_path: Path, run: Command, stored: LayerChoice, asked: str | None
) -> None:
    folder = write_parts(text, tmp_path / "vectors", stored)
    options = [] if asked is None else ["--layers", asked]
    result = run("index", "--vectors", folder, "-o", tmp_path / "index", *options)
    assert result.code == 0, result.err
    layers: LayerChoice = "mean" if asked in (None, "mean") else "top" if asked == "top" else 1
    wanted = tmp_path / "wanted"
    OccurrenceIndex.build(Embedder(tiny_model()), Corpus([text], tokenize=None), wanted, layers=layers)
    same_index(wanted, tmp_path / "index")
    tokens = sum(len(line.split()) for line in LINES) * 2
    assert f"{tmp_path / 'index'}: {tokens:,} occurrences of" in result.err


def test_a_sample_is_the_same_sample(text: Path, tmp_path: Path) -> None:
    source = StoredVectors(open_stored(Location.of(write_parts(text, tmp_path / "vectors", "top"))))
    OccurrenceIndex.build(source, source.corpus, tmp_path / "index", sample=0.3, words=["bank", "river"])
    corpus = Corpus([text], tokenize=None)
    wanted = tmp_path / "wanted"
    OccurrenceIndex.build(Embedder(tiny_model()), corpus, wanted, sample=0.3, words=["bank", "river"])
    same_index(wanted, tmp_path / "index")


def test_a_file_of_the_ordinary_command(text: Path, tmp_path: Path, run: Command) -> None:
    native.write(tiny_model(), tmp_path / "model")
    run("embed", text, "-m", tmp_path / "model", "-o", tmp_path / "v.parquet", "--layers", "mean", "--tokenize", "none")
    result = run("index", "--vectors", tmp_path / "v.parquet", "-o", tmp_path / "index", "--json")
    assert json.loads(result.out)["model"] == "model"
    OccurrenceIndex.build(Embedder(tiny_model()), Corpus([text], tokenize=None), tmp_path / "wanted", layers="mean")
    same_index(tmp_path / "wanted", tmp_path / "index")
    found = run("nearest", tmp_path / "index", "the river [bank]", "-k", "1")  # with the model that made the vectors
    assert found.out.startswith("1.000  the river [bank]")


def test_sentences_that_run_over_several_batches(tmp_path: Path) -> None:
    long = [["word"] * 5000, ["a"], ["b"] * 9000]
    embed_corpus(Embedder(tiny_model()), long, tmp_path / "v.parquet", layers="top")
    source = StoredVectors(open_stored(Location.of(tmp_path / "v.parquet")))
    found = list(source.corpus)
    assert [sentence.tokens for sentence in found] == long
    vectors = source.embed([sentence.tokens for sentence in found], layers="top")
    for one, two in zip(vectors, Embedder(tiny_model()).embed(long, layers="top"), strict=True):
        assert np.array_equal(one, two)
    assert source.corpus.share_read() == 1.0


def test_what_cannot_be_indexed(text: Path, tmp_path: Path, run: Command) -> None:
    folder = write_parts(text, tmp_path / "vectors", "mean")
    out = tmp_path / "index"
    refused(run("index", "--vectors", folder, "-o", out, "--layers", "top"), "holds layers mean alone, and layers top")
    refused(run("index", "--vectors", tmp_path, "-o", out), "no complete folder of vectors (_manifest.json is missing)")
    refused(run("index", "-o", out), "TEXT is missing; give TEXT and --model, or --vectors")
    refused(run("index", text, "-o", out), "--model is missing; give TEXT and --model, or --vectors")
    refused(run("index", text, "--vectors", folder, "-o", out), "--model is missing")
    (tmp_path / "v.npz").write_bytes(b"")
    refused(run("index", "--vectors", tmp_path / "v.npz", "-o", out), "v.npz: is no .parquet file, and only those say")
    pq.write_table(pa.table({"token": ["a"]}), tmp_path / "other.parquet")
    refused(run("index", "--vectors", tmp_path / "other.parquet", "-o", out), "does not say which model made its")
    (tmp_path / "no.parquet").write_bytes(b"PAR1")
    refused(run("index", "--vectors", tmp_path / "no.parquet", "-o", out), "no.parquet: damaged, or no Parquet")
    embed_corpus(Embedder(tiny_model()), [["a"]], tmp_path / "pooled.parquet", pool="mean")
    refused(run("index", "--vectors", tmp_path / "pooled.parquet", "-o", out), "holds one vector per sentence")
    source = StoredVectors(open_stored(Location.of(folder)))
    with pytest.raises(InputError, match="holds the vectors of its own sentences, and cannot embed others"):
        source.embed([["a"]], layers="mean")
    assert not out.exists()


@pytest.mark.parametrize("damage", ["missing", "short", "manifest", "rows"])
def test_damaged_parts_are_named(text: Path, tmp_path: Path, damage: str) -> None:
    folder = write_parts(text, tmp_path / "vectors", "mean")
    path = sorted(folder.glob("*.parquet"))[1]
    manifest = folder / "_manifest.json"
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "manifest":
        manifest.write_text(manifest.read_text()[:-20])
    else:
        table = pq.read_table(path)
        pq.write_table(pa.concat_tables([table, table]), path)
        kept = json.loads(manifest.read_text())
        kept["parts"][1]["size"] = path.stat().st_size
        manifest.write_text(json.dumps(kept))
    message = {
        "missing": "missing, and the manifest names it",
        "short": "bytes, and the manifest says",
        "manifest": "_manifest.json: damaged",
        "rows": r"sentence \d is where \d is expected",
    }
    with pytest.raises(FormatError, match=message[damage]):
        list(StoredVectors(open_stored(Location.of(folder))).corpus)

"""A worker writes the vectors that one process computes, and shares its weights with others."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tiny import tiny_model

from polyseme.embed.choices import NumberType, Pool
from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.layers import LayerChoice
from polyseme.embed.vectors_record import PartRecord, VectorsRecord
from polyseme.errors import InputError
from polyseme.files.location import Location
from polyseme.nn.kernels.packed import set_keeper
from polyseme.scale.output import part_record
from polyseme.scale.parts import Part, divide, find_files
from polyseme.scale.shared_weights import SharedWeights
from polyseme.scale.worker import Work, Worker
from polyseme.text.corpus import Corpus
from polyseme.text.segmentation import Segmentation

TEXT = "the river bank\n\na play of money \u00e9\nthe bank\n" * 40


@pytest.fixture(autouse=True)
def no_keeper() -> "object":
    yield
    set_keeper(None)


def work(folder: Path, layers: LayerChoice, pool: Pool | None, dtype: NumberType, version: str = "") -> Work:
    embedder, segmentation = Embedder(tiny_model()), Segmentation(None)
    made_with = VectorsRecord.of(embedder, segmentation, layers=layers, pool=pool, dtype=dtype)
    told = Work(made_with, layers, pool, segmentation, Location.of(folder), threads=1)
    return told if not version else Work(made_with, layers, pool, segmentation, Location.of(folder), 1, version)


def parts_of(folder: Path, part_bytes: int = 300) -> list[Part]:
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    return divide(find_files([str(folder / "text.txt")], "auto"), None, part_bytes)


@pytest.mark.parametrize(
    ("layers", "pool", "dtype"),
    [("all", None, "float32"), ("mean", None, "float16"), (1, "mean", "float32"), ("top", "max", "float16")],
)
def test_parts_hold_what_one_process_writes(
    tmp_path: Path, layers: LayerChoice, pool: Pool | None, dtype: NumberType
) -> None:
    parts = parts_of(tmp_path)
    assert len(parts) > 5
    worker = Worker(Embedder(tiny_model()), work(tmp_path, layers, pool, dtype))
    records = [worker.embed(part) for part in parts]
    tables = [pq.read_table(tmp_path / part.name) for part in parts]
    whole = tmp_path / "whole.parquet"
    corpus = Corpus([tmp_path / "text.txt"], tokenize=None)
    embed_corpus(Embedder(tiny_model()), corpus, whole, layers=layers, pool=pool, dtype=dtype)
    wanted = pq.read_table(whole)
    first = np.cumsum([0, *(record.sentences for record in records)])
    columns = [name for name in wanted.column_names if name not in ("sentence", "file", "line")]
    for name in columns:
        found = [row for table in tables for row in table[name].to_pylist()]
        assert found == wanted[name].to_pylist()
        assert tables[0].schema.field(name).type == wanted.schema.field(name).type
    numbers = [
        row + start for table, start in zip(tables, first, strict=False) for row in table["sentence"].to_pylist()
    ]
    assert numbers == wanted["sentence"].to_pylist()
    assert {name for table in tables for name in table["part"].to_pylist()} == {part.name for part in parts}
    assert sum(record.sentences for record in records) == len(list(corpus))
    assert sum(record.lines for record in records) == TEXT.count("\n")


def test_a_part_is_complete_if_its_end_says_so(tmp_path: Path) -> None:
    part = parts_of(tmp_path)[1]
    worker, path = Worker(Embedder(tiny_model()), work(tmp_path, "mean", None, "float32")), tmp_path / part.name
    record = worker.embed(part)
    content = path.read_bytes()
    assert part_record(Location.of(path)) == record
    worker.embed(part)
    assert path.read_bytes() == content  # to the last byte
    made = json.loads(pq.read_schema(path).metadata[b"polyseme"])
    assert VectorsRecord.model_validate(made) == work(tmp_path, "mean", None, "float32").made_with
    for length in (0, 4, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        assert part_record(Location.of(path)) is None
    path.unlink()
    assert part_record(Location.of(path)) is None
    pq.write_table(pq.read_table(whole_part(tmp_path, worker, part)), path)  # Parquet, but not of a run
    path.write_bytes(path.read_bytes().replace(b"polyseme-part", b"polyseme-else"))
    assert part_record(Location.of(path)) is None


def whole_part(folder: Path, worker: Worker, part: Part) -> Path:
    worker.embed(part)
    return folder / part.name


def test_a_part_without_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n \n")
    (part,) = divide(find_files([str(tmp_path / "a.txt")], "auto"), "en", 100)
    given = work(tmp_path, "all", None, "float32")
    segmented = Work(given.made_with, "all", None, Segmentation("en"), given.folder, 1)
    record = Worker(Embedder(tiny_model()), segmented).embed(part)
    assert (record.sentences, record.tokens, record.lines) == (0, 0, 2)
    table = pq.read_table(tmp_path / part.name)
    assert len(table) == 0
    assert [name for name in table.column_names if name.startswith("layer_")] == ["layer_0", "layer_1", "layer_2"]


def test_text_that_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('["a"]\n' * 3 + "[1]\n")
    part = divide(find_files([str(tmp_path / "a.jsonl")], "auto"), None, 10)[-1]
    worker = Worker(Embedder(tiny_model()), work(tmp_path, "mean", None, "float32"))
    with pytest.raises(InputError, match=r"a.jsonl \(from byte \d+\):2: \[1\] where a list of non-empty strings"):
        worker.embed(part)
    assert not (tmp_path / part.name).exists()


def test_another_version_is_refused(tmp_path: Path) -> None:
    worker = Worker(Embedder(tiny_model()), work(tmp_path, "mean", None, "float32", version="0.0.1"))
    with pytest.raises(InputError, match=r"and the job was started with 0.0.1; install the same version"):
        worker.ready()


class TestSharedWeights:
    def test_the_same_vectors_from_mapped_weights(self, tmp_path: Path) -> None:
        from polyseme.embed.load import load

        sentences = [["The", "bank", "was", "closed"], ["Yes"]]
        wanted = load("english-small").embed(sentences)
        embedder = load("english-small")
        assert isinstance(embedder, Embedder)
        shared = SharedWeights(tmp_path)
        shared.share(embedder)
        for one, two in zip(embedder.embed(sentences), wanted, strict=True):
            assert np.array_equal(one, two)
        stored = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        bytes_ = sum(path.stat().st_size for path in tmp_path.iterdir())
        parameters = sum(4 * one.numel() for one in embedder.model.network.parameters() if 4 * one.numel() >= 1 << 16)
        assert bytes_ > parameters  # the weights, and what the kernels make of them
        assert mapped_bytes(tmp_path) >= bytes_
        other = load("english-small")
        SharedWeights(tmp_path).share(other)
        other.embed(sentences)
        assert {path.name for path in tmp_path.iterdir()} == stored.keys()  # nothing was stored twice
        shared.close()
        assert not list(tmp_path.iterdir())
        for one, two in zip(other.embed(sentences), wanted, strict=True):  # what is mapped stays
            assert np.array_equal(one, two)

    def test_without_a_folder_nothing_is_shared(self) -> None:
        weights = tiny_model().network.state_dict()["encoder.forward_layers.0.weight_ih"]
        assert SharedWeights(None).shared(weights) is weights

    def test_the_folder_belongs_to_this_user_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        SharedWeights.open()
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        weights = np.arange(1 << 15, dtype=np.float32)
        import torch

        assert SharedWeights.open().shared(torch.from_numpy(weights)).tolist() == weights.tolist()
        assert len(list(folder.iterdir())) == 1
        folder.chmod(0o777)
        assert SharedWeights.open().shared(torch.from_numpy(weights + 1)).tolist() == (weights + 1).tolist()
        assert len(list(folder.iterdir())) == 1


def mapped_bytes(folder: Path) -> int:
    """How much of the files of a folder this process has mapped."""
    total = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        if str(folder) in line:
            first, last = line.split()[0].split("-")
            total += int(last, 16) - int(first, 16)
    return total


def test_records_survive_json(tmp_path: Path) -> None:
    part = parts_of(tmp_path)[0]
    record = Worker(Embedder(tiny_model()), work(tmp_path, "mean", None, "float32")).embed(part)
    assert PartRecord.model_validate_json(record.model_dump_json()) == record

"""What is written is what was given, in each format's own layout, in one part or in many."""

import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from writer_cases import KINDS, SETTINGS, SUFFIXES, read, record, same

from polyseme.embed.writers import Record, hdf5, npz, open_writer
from polyseme.errors import InputError, MissingPart, OutputError

ONE_PART, MANY_PARTS = 1 << 20, 2000


def write(path: Path, records: list[Record], **options: object) -> Path:
    with open_writer(path, settings=SETTINGS, **options) as writer:  # type: ignore[arg-type]
        for each in records:
            writer.write(each)
    return path


@pytest.mark.parametrize("part_bytes", [ONE_PART, MANY_PARTS])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_vectors_come_back(tmp_path: Path, suffix: str, kind: str, dtype: str, part_bytes: int) -> None:
    records = [record(number, kind) for number in range(23)]
    path = write(tmp_path / f"out{suffix}", records, dtype=dtype, part_bytes=part_bytes)
    same(read(path, kind, 23), kind, 23, dtype=dtype)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_vectors_may_be_views_that_change_later(tmp_path: Path, suffix: str) -> None:
    batch = np.arange(24, dtype=np.float64).reshape(2, 4, 3)
    view = batch.transpose(0, 2, 1)[:, ::2]  # (L, T, D), not contiguous
    expected = view.astype(np.float32)
    with open_writer(tmp_path / f"out{suffix}", settings={}) as writer:
        writer.write(Record(["a", "b"], view))
        batch[:] = 0
    np.testing.assert_array_equal(read(tmp_path / f"out{suffix}", "all layers", 1)[0][:2], expected, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_npz_is_a_sound_archive_with_the_bytes_of_a_single_part(tmp_path: Path, kind: str) -> None:
    records = [record(number, kind) for number in range(40)]
    one = write(tmp_path / "one.npz", records, part_bytes=ONE_PART)
    many = write(tmp_path / "many.npz", records, part_bytes=MANY_PARTS)
    with zipfile.ZipFile(many) as archive, zipfile.ZipFile(one) as plain:
        assert archive.testzip() is None
        assert [info.date_time for info in archive.infolist()] == [info.date_time for info in plain.infolist()]
        assert {info.external_attr >> 16 for info in archive.infolist()} == {0o644}
        assert archive.namelist() == plain.namelist()
    if kind != "one vector":
        assert many.read_bytes() == one.read_bytes()


def test_npz_beyond_4_gib_uses_64_bit_fields(tmp_path: Path) -> None:
    # A file with a hole of 5 GiB, which takes no room, before the entry that its directory lists.
    offset = 5 << 30
    source = write(tmp_path / "part.npz", [record(7)])
    with zipfile.ZipFile(source) as archive, (tmp_path / "large.npz").open("wb") as large:
        (info,) = archive.infolist()
        entry = source.read_bytes()[: archive.start_dir]
        large.write(entry)
        large.seek(offset)
        large.write(entry)
        directory = large.tell()
        large.write(npz._directory_entry(info, offset))
        large.write(npz._end(directory, large.tell() - directory, 1))
    with np.load(tmp_path / "large.npz") as arrays:
        np.testing.assert_array_equal(arrays["0"], record(7).vectors, strict=True)


def test_npz_lists_more_than_65535_arrays_and_arrays_beyond_4_gib() -> None:
    count = 70_000
    info = zipfile.ZipInfo("7.npy")
    info.file_size = info.compress_size = 6 << 30
    info.CRC = 1
    directory = npz._directory_entry(info, 9 << 30) * count
    with zipfile.ZipFile(io.BytesIO(directory + npz._end(0, len(directory), count))) as archive:
        listed = archive.infolist()
    assert len(listed) == count
    assert (listed[-1].file_size, listed[-1].compress_size, listed[-1].header_offset) == (6 << 30, 6 << 30, 9 << 30)


@pytest.mark.parametrize("part_bytes", [ONE_PART, MANY_PARTS])
def test_hdf5_indexes_sentences_and_names_as_json(tmp_path: Path, part_bytes: int) -> None:
    records = [record(number) for number in range(30)]
    records[9] = Record(["same", "text"], np.zeros((3, 2, 8)), name="nul\0 \ud800")
    records[27] = Record(["same", "text"], np.zeros((3, 2, 8)))
    path = write(tmp_path / "out.hdf5", records, part_bytes=part_bytes)
    with h5py.File(path) as file:
        dataset = file["sentence_to_index"]
        assert dataset.shape == (1,)
        assert h5py.check_string_dtype(dataset.dtype).length is None
        expected = {" ".join(each.tokens): str(number) for number, each in enumerate(records)}
        assert expected["same text"] == "27"
        assert json.loads(dataset[0]) == expected
        names = {each.name: str(number) for number, each in enumerate(records) if each.name}
        assert json.loads(file["name_to_index"][0]) == names


@pytest.mark.parametrize("part_bytes", [ONE_PART, MANY_PARTS])
def test_hdf5_without_index_or_names_holds_vectors_only(tmp_path: Path, part_bytes: int) -> None:
    records = [Record(["a"], np.ones((1, 4))) for _ in range(9)]
    path = write(tmp_path / "out.h5", records, part_bytes=part_bytes, sentence_index=False)
    with h5py.File(path) as file:
        assert set(file) == set("012345678")


def test_hdf5_index_too_long_for_hdf5_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "_MAX_TEXT", 100)
    path = tmp_path / "out.h5"
    records = [replace(record(number), name=None) for number in range(20)]
    with pytest.raises(OutputError) as caught:
        write(path, records, part_bytes=MANY_PARTS)
    assert str(caught.value).startswith(f"{path}: sentence_to_index would take ")
    assert "HDF5 ends at 100 (use --no-sentence-index, or write .parquet)" in str(caught.value)
    assert f"all 20 sentences are safe in {path}.partial" in str(caught.value)
    with open_writer(path, settings=SETTINGS, resume=True, sentence_index=False) as writer:
        assert writer.done == 20
    same(read(path, "all layers", 20), "all layers", 20)


@pytest.mark.parametrize("part_bytes", [ONE_PART, MANY_PARTS])
def test_parquet_has_one_row_per_token(tmp_path: Path, part_bytes: int) -> None:
    records = [record(number) for number in range(11)]
    records[10] = Record(["x", "\ud800"], np.zeros((3, 2, 8)), name=None)
    table = pq.read_table(write(tmp_path / "out.parquet", records, part_bytes=part_bytes))
    kind = pa.list_(pa.field("element", pa.float32(), nullable=False), 8)
    assert table.schema.remove_metadata() == pa.schema(
        [
            pa.field("sentence", pa.int64(), nullable=False),
            pa.field("position", pa.int32(), nullable=False),
            pa.field("token", pa.string(), nullable=False),
            pa.field("name", pa.string()),
            pa.field("file", pa.string()),
            pa.field("line", pa.int64()),
            pa.field("document", pa.string()),
            *(pa.field(f"layer_{layer}", kind, nullable=False) for layer in range(3)),
        ]
    )
    rows = [
        (number, place, token, each.name, each.file, each.line, each.document)
        for number, each in enumerate(records)
        for place, token in enumerate(each.tokens)
    ]
    rows[-1] = (10, 1, "?", None, None, None, None)
    keys = table.drop(["layer_0", "layer_1", "layer_2"]).to_pylist()
    assert [tuple(row.values()) for row in keys] == rows


@pytest.mark.parametrize("part_bytes", [ONE_PART, MANY_PARTS])
def test_parquet_has_one_row_per_sentence_for_one_vector_each(tmp_path: Path, part_bytes: int) -> None:
    records = [record(number, "one vector") for number in range(11)]
    table = pq.read_table(write(tmp_path / "out.parquet", records, part_bytes=part_bytes))
    assert table.column_names == ["sentence", "name", "file", "line", "document", "text", "tokens", "vector"]
    assert [tuple(row.values()) for row in table.drop(["vector"]).to_pylist()] == [
        (number, each.name, each.file, each.line, each.document, " ".join(each.tokens), len(each.tokens))
        for number, each in enumerate(records)
    ]


def test_parquet_of_empty_sentences_only(tmp_path: Path) -> None:
    path = write(tmp_path / "out.parquet", [Record([], np.zeros((0, 4))) for _ in range(9)], part_bytes=MANY_PARTS)
    table = pq.read_table(path)
    assert len(table) == 0
    assert table.schema.field("vector").type.list_size == 4


ORIGIN = ("name", "file", "line", "document")


def test_no_sentences_make_an_empty_file(tmp_path: Path) -> None:
    with np.load(write(tmp_path / "out.npz", [])) as arrays:
        assert arrays.files == []
    with h5py.File(write(tmp_path / "out.h5", [])) as file:
        assert json.loads(file["sentence_to_index"][0]) == {}
        assert list(file) == ["sentence_to_index"]
    table = pq.read_table(write(tmp_path / "out.parquet", []))
    assert (len(table), table.column_names) == (0, ["sentence", "position", "token", *ORIGIN])


def test_unknown_suffix_lists_the_choices(tmp_path: Path) -> None:
    for name, shown in (
        ("out.csv", "the suffix is '.csv'"),
        ("out", "the name has no suffix"),
        ("out.NPZ", "the suffix is '.NPZ'"),
    ):
        with pytest.raises(InputError) as caught:
            open_writer(tmp_path / name, settings={})
        assert str(caught.value) == (f"{tmp_path / name}: {shown}, expected one of .npz, .h5, .hdf5, .parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "polyseme.embed.writers.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPart) as caught:
        open_writer(tmp_path / "out.parquet", settings={})
    assert str(caught.value) == "writing .parquet needs the package pyarrow; pip install 'polyseme[parquet]'"
    assert list(tmp_path.iterdir()) == []


def test_other_formats_do_not_import_pyarrow() -> None:
    code = "import sys, polyseme.embed.writers; assert not {'pyarrow', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_vectors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    with open_writer(path, settings={}, dtype="float16") as writer:
        writer.write(Record(["a", "b"], np.zeros((2, 4))))
        with pytest.raises(InputError) as caught:
            writer.write(Record(["a", "b"], np.zeros((3, 4))))
        assert str(caught.value) == (
            f"{path}: sentence 1 of 2 tokens has vectors of shape (3, 4); "
            "expected (layers, tokens, dim), (tokens, dim) or (dim,)"
        )
        with pytest.raises(InputError, match=r"sentence 1 has vectors of shape \(1, 5\), the sentences before it have"):
            writer.write(Record(["a"], np.zeros((1, 5))))
        with pytest.raises(InputError, match=r"sentence 1 has vectors of shape \(4,\)"):
            writer.write(Record(["a"], np.zeros(4)))
        with pytest.raises(InputError) as caught:
            writer.write(Record(["a"], np.array([[1.0, -7e4, 2.0, 3.0]])))
        assert str(caught.value) == (f"{path}: sentence 1 has the value 70000, float16 ends at 65504; write float32")
        writer.write(Record(["a"], np.array([[1.0, -6e4, np.nan, np.inf]])))
    assert len(read(path, "one layer", 2)) == 2

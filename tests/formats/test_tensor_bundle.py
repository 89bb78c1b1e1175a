"""TensorFlow checkpoints are read as TensorFlow wrote them, and damaged ones are refused."""

import contextlib
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.errors import FormatError
from polyseme.formats.crc32c import crc32c, masked
from polyseme.formats.sstable import read_table
from polyseme.formats.tensor_bundle import TensorBundle, latest_prefix

GOLDEN = Path(__file__).parents[1] / "golden" / "tf_checkpoint"
PREFIX = "model.ckpt-935588"
INDEX = (GOLDEN / "model" / f"{PREFIX}.index").read_bytes()
DATA = (GOLDEN / "model" / f"{PREFIX}.data-00000-of-00001").read_bytes()
SHARDED = {path.name: path.read_bytes() for path in (GOLDEN / "bundles").glob("sharded*")}
LSTM = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}


def in_folder(folder: str) -> Callable[[str], BinaryIO]:
    return lambda name: (GOLDEN / folder / name).open("rb")


def in_memory(files: dict[str, bytes]) -> Callable[[str], BinaryIO]:
    return lambda name: io.BytesIO(files[name])


def opened(index: bytes, data: bytes = DATA) -> TensorBundle:
    return TensorBundle(in_memory({"m.index": index, "m.data-00000-of-00001": data}), "m")


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(dtype: int, shape: list[int], *, offset: int = 0, size: int = 0, shard: int = 0, rest: bytes = b"") -> bytes:
    dims = b"".join(field(2, field(1, length)) for length in shape)
    checksum = varint(6 << 3 | 5) + struct.pack("<I", masked(crc32c(DATA[offset : offset + size])))
    return field(1, dtype) + field(2, dims) + field(3, shard) + field(4, offset) + field(5, size) + checksum + rest


def sealed(content: bytes, kind: int = 0) -> bytes:
    body = content + bytes([kind])
    return body + struct.pack("<I", masked(crc32c(body)))


def block(rows: list[tuple[int, bytes, bytes]]) -> bytes:
    """A block of entries: bytes shared with the key before, the rest of the key, the value."""
    body = b"".join(varint(shared) + varint(len(key)) + varint(len(value)) + key + value for shared, key, value in rows)
    return body + struct.pack("<II", 0, 1)


def table(*blocks: bytes, places: list[tuple[int, int]] | None = None, kind: int = 0) -> bytes:
    """A whole table; ``places`` overrides where its list says the blocks are."""
    body, found = b"", []
    for content in blocks:
        found.append((len(body), len(content)))
        body += sealed(content, kind)
    rows = [(0, b"k", varint(start) + varint(size)) for start, size in places or found]
    listing = block(rows)
    footer = varint(0) + varint(0) + varint(len(body)) + varint(len(listing))
    return body + sealed(listing) + footer.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")


def index_of(entries: dict[bytes, bytes]) -> bytes:
    header = {b"": field(1, 1)}
    return table(block([(0, key, value) for key, value in sorted((header | entries).items())]))


def test_every_weight_has_its_value_under_its_name() -> None:
    with np.load(GOLDEN / "expected.npz") as expected, TensorBundle(in_folder("model"), PREFIX) as bundle:
        for key in (key.removeprefix("weights/") for key in expected.files if key.startswith("weights/")):
            name = f"lm/{key}"
            if key.startswith("RNN"):
                direction, _, _, cell, _, what = key.split("/")
                name = f"lm/{direction}/rnn/multi_rnn_cell/cell_{cell[-1]}/lstm_cell/{LSTM[what]}"
            values = bundle[name].read()
            assert bundle[name].shape == values.shape
            assert bundle[name].dtype == values.dtype == np.float32
            np.testing.assert_array_equal(values, expected[f"weights/{key}"])


def test_the_hdf5_file_holds_the_same_weights_without_the_softmax() -> None:
    with np.load(GOLDEN / "expected.npz") as expected, h5py.File(GOLDEN / "weights.hdf5") as file:
        wanted = {key.removeprefix("weights/") for key in expected.files if key.startswith("weights/")}
        found: dict[str, h5py.Dataset] = {}
        file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
        assert set(found) == wanted - {"softmax/W", "softmax/b"}
        for name, item in found.items():
            np.testing.assert_array_equal(item[...], expected[f"weights/{name}"])


def test_training_state_is_listed_beside_the_weights() -> None:
    with TensorBundle(in_folder("model"), PREFIX) as bundle:
        weights = [name for name in bundle if name.startswith("lm/") and not name.endswith("/Adagrad")]
        assert len(weights) == 27
        assert sorted(bundle) == sorted(
            [*weights, *(f"{name}/Adagrad" for name in weights), "global_step", "train_perplexity"]
        )
        assert bundle["global_step"].shape == ()
        assert bundle["global_step"].read() == 935588
        assert (bundle["lm/softmax/b/Adagrad"].read().astype(np.float32) >= 1).all()


def test_a_tensor_in_parts_and_two_files_comes_whole() -> None:
    with TensorBundle(in_folder("bundles"), "sharded.ckpt") as bundle:
        assert list(bundle) == ["columns", "rows", "whole"]
        np.testing.assert_array_equal(bundle["rows"].read(), np.arange(21, dtype=np.float32).reshape(7, 3))
        np.testing.assert_array_equal(bundle["columns"].read(), np.arange(400, dtype=np.float32).reshape(2, 200))
        np.testing.assert_array_equal(bundle["whole"].read(), np.array([[1, 2], [3, 4]], np.int64))


def test_every_type_of_number_is_read() -> None:
    values = np.array([[0.5, -1.25, 3.0], [0.0, 1e-3, -65504.0]])
    with TensorBundle(in_folder("bundles"), "types.ckpt") as bundle:
        for name in ("float16", "float32", "float64"):
            found = bundle[name].read()
            assert found.dtype == name
            np.testing.assert_array_equal(found, values.astype(name))
        widened = bundle["bfloat16"].read()
        assert widened.dtype == np.float32
        np.testing.assert_allclose(widened.astype(np.float64), values, rtol=1 / 128)
        assert bundle["int32"].read().tolist() == [-1, 2**31 - 1]
        assert bundle["int64"].read().tolist() == [-1, 2**63 - 1]
        assert bundle["scalar"].read() == np.float32(7)
        assert bundle["empty"].read().shape == (0, 5)


@pytest.mark.parametrize("dtype", ["bool", "string"])
def test_other_types_are_listed_but_not_read(dtype: str) -> None:
    with TensorBundle(in_folder("bundles"), "types.ckpt") as bundle:
        assert bundle[dtype].dtype == dtype
        assert bundle[dtype].shape == (2,)
        with pytest.raises(FormatError, match=f"types.ckpt.data-00000-of-00001: '{dtype}' holds {dtype}; only float32"):
            bundle[dtype].read()


def test_a_checkpoint_is_read_from_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (GOLDEN / "model").iterdir():
            archive.write(path, path.name)
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        prefix = latest_prefix(archive.namelist(), archive.read("checkpoint").decode())
        with TensorBundle(lambda name: io.BytesIO(archive.read(name)), prefix) as bundle:
            values = bundle["lm/char_embed"].read()
        assert values.shape == (261, 4)
        assert values.flags.writeable  # torch warns of arrays that are not
        with pytest.raises(FormatError, match=r"^other.index: this file of the checkpoint is missing"):
            TensorBundle(lambda name: io.BytesIO(archive.read(name)), "other")


def test_every_file_is_opened_once_and_closed() -> None:
    seen: list[BinaryIO] = []

    def open_file(name: str) -> BinaryIO:
        seen.append(in_folder("bundles")(name))
        return seen[-1]

    with TensorBundle(open_file, "sharded.ckpt") as bundle:
        for tensor in bundle.values():
            tensor.read()
    assert len(seen) == 3
    assert all(file.closed for file in seen)
    with pytest.raises(FormatError):
        TensorBundle(lambda name: open_file("sharded.ckpt.data-00001-of-00002"), "x")
    assert seen[-1].closed


def test_values_that_changed_on_the_disk_are_refused() -> None:
    for name, at in (("lm/char_embed", 0), ("train_perplexity", -1)):
        with opened(INDEX) as bundle:
            region = bundle[name]._regions[0]
            place = region.offset + at % region.size
        damaged = bytearray(DATA)
        damaged[place] ^= 1
        with (
            opened(INDEX, bytes(damaged)) as bundle,
            pytest.raises(
                FormatError,
                match=rf"^m.data-00000-of-00001: '{name}' does not have the right checksum; the file is damaged or "
                r"truncated, copy it from its source again$",
            ),
        ):
            bundle[name].read()


def test_a_part_that_changed_on_the_disk_is_refused() -> None:
    name = next(name for name in SHARDED if ".data-00001" in name)
    damaged = bytearray(SHARDED[name])
    damaged[-1] ^= 0x80
    with TensorBundle(in_memory(SHARDED | {name: bytes(damaged)}), "sharded.ckpt") as bundle:
        refused = []
        for tensor in bundle.values():
            try:
                tensor.read()
            except FormatError as error:
                refused.append(str(error))
    assert len(refused) == 1
    assert "does not have the right checksum" in refused[0]


STEPS = ["options.json", "model.ckpt-9.index", "model.ckpt-10.index", "model.ckpt-10.data-00000-of-00001"]


@pytest.mark.parametrize(
    ("names", "text", "prefix"),
    [
        (STEPS, None, "model.ckpt-10"),
        (STEPS, 'model_checkpoint_path: "/home/author/model.ckpt-9"\n', "model.ckpt-9"),
        (STEPS, 'model_checkpoint_path: "C:\\\\runs\\\\model.ckpt-9"\n', "model.ckpt-9"),
        (STEPS, 'model_checkpoint_path: "/gone/model.ckpt-11"\n', "model.ckpt-10"),
        (STEPS, "not what it should be", "model.ckpt-10"),
        (["all/model.ckpt-9.index"], 'model_checkpoint_path: "model.ckpt-9"', "all/model.ckpt-9"),
        (["model.ckpt.index"], None, "model.ckpt"),
    ],
)
def test_the_latest_checkpoint_is_chosen(names: list[str], text: str | None, prefix: str) -> None:
    assert latest_prefix(names, text) == prefix


def test_no_checkpoint_and_too_many_are_errors_that_list_what_there_is() -> None:
    with pytest.raises(FormatError, match=r"expected a file that ends in \.index, found a\.txt, options\.json$"):
        latest_prefix(["options.json", "a.txt"], None)
    with pytest.raises(FormatError, match=r"found no files$"):
        latest_prefix([], None)
    with pytest.raises(FormatError, match=r"it is unclear which checkpoint is the latest: a, b; name the one to read"):
        latest_prefix(["a.index", "b.index"], None)


FLOATS = entry(1, [2, 3], size=24)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (b"", r"^m.index: not the index of a TensorFlow checkpoint"),
        (INDEX[:-1], r"^m.index: not the index of a TensorFlow checkpoint"),
        (INDEX[100:], r"^m.index: the block at byte \d+ ends at \d+ but the blocks end at \d+; the file is damaged"),
        (INDEX[:50] + b"\xff" + INDEX[51:], r"^m.index: the block at byte 0 does not have the right checksum"),
        (table(block([(0, b"", field(1, 1))]), kind=1), r"^m.index: the block at byte 0 is compressed \(kind 1\)"),
        (table(block([(0, b"a", FLOATS)])), r"^m.index: it has no header"),
        (table(block([(0, b"", field(2, 1))])), "big-endian"),
        (table(block([(0, b"", b"\x08" + b"\xff" * 10)])), r"^m.index, header: the number at byte 1 has no end"),
        (table(block([(0, b"", b"\x0b")])), "header: field 1 is of the unknown kind 3"),
        (table(block([(0, b"", field(1, 3))])), r"^m.data-00000-of-00003: this file of the checkpoint is missing"),
        (table(block([(0, b"", field(1, b"x"))])), "header: field 1 is not a non-negative number"),
        (
            table(block([(2, b"", b"")])),
            "block at byte 0: the entry at byte 0 of the block is longer than the block",
        ),
        (table(block([(0, b"b", b""), (0, b"a", b"")])), "block at byte 0: its keys are not in order"),
        (table(b"\xff\xff\xff\xff"), "block at byte 0: there is no room for the list at its end"),
        (table(block([(0, b"a", b"")]), places=[(0, 12)] * 2), "the block at byte 0 overlaps the one before it"),
        (index_of({b"\xff": FLOATS}), "the name is not UTF-8"),
        (index_of({b"a": entry(1, [2, 3], size=20)}), r"m.index, 'a': float32 of \(2, 3\) does not fill 20 bytes"),
        (index_of({b"a": entry(1, [2, -1], size=24)}), "m.index, 'a': field 1 is not a non-negative number"),
        (
            index_of({b"a": entry(1, [2, 3], size=24, offset=99_999)}),
            "ends at byte 100023 of m.data-00000-of-00001 but",
        ),
        (index_of({b"a": entry(1, [2, 3], size=24, shard=1)}), "it is in data file 1 but the last one is 0"),
        (index_of({b"a": entry(1, [0, 1 << 60])}), "its 2 dimensions are more or larger than those of any tensor"),
        (index_of({b"a": entry(1, [1] * 40, size=4)}), "its 40 dimensions are more or larger"),
        (index_of({b"a": field(2, 5)}), "field 2 is a number, expected a message"),
        (index_of({b"a": b"\x12\x7f"}), "field 2 is longer than its message"),
        (index_of({b"a": entry(1, [2, 3], size=24, rest=field(6, 7))}), "field 6 is not a number of four bytes"),
        (index_of({b"a": entry(1, [4], rest=field(7, field(1, field(2, 4))))}), "part 0 has no entry of its own"),
        (index_of({b"a": entry(1, [4], rest=field(7, b""))}), "part 0 has no entry of its own"),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_its_place(index: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        opened(index)
    assert "\n" not in str(caught.value)


def test_data_cut_short_is_refused() -> None:
    with pytest.raises(
        FormatError, match=r"'train_perplexity': it ends at byte 65960 of m.data-00000-of-00001 but that file has"
    ):
        opened(INDEX, DATA[:-1])
    file = io.BytesIO(DATA)
    bundle = TensorBundle(lambda name: io.BytesIO(INDEX) if name == "m.index" else file, "m")
    file.truncate(65_959)
    with pytest.raises(FormatError, match=r"m.data-00000-of-00001: 'train_perplexity' ends after 3 of 4 bytes"):
        bundle["train_perplexity"].read()


def parts(*places: tuple[int, int], shape: int = 4, dtype: int = 1, size: int | None = None) -> bytes:
    """An index with a vector in parts, each a start and a length."""
    listed = b"".join(field(7, field(1, field(1, start) + field(2, length))) for start, length in places)
    entries = {b"a": entry(1, [shape], rest=listed)}
    for start, length in places:
        key = b"\0a\0\1\1\1" + bytes([0x80 ^ start, 0x80 ^ length])
        entries[key] = entry(dtype, [length], size=4 * length if size is None else size)
    return index_of(entries)


def test_parts_must_make_up_the_whole() -> None:
    with opened(parts((0, 1), (1, 3))) as bundle:
        assert bundle["a"].read().tobytes() == DATA[:4] + DATA[:12]
    for wrong in [parts((0, 1), (2, 2)), parts((0, 3), (1, 3)), parts((0, 1), (1, 2)), parts((0, 2), (2, 3))]:
        with pytest.raises(FormatError, match=r"'a': its 2 parts do not follow each other to a tensor of \(4,\)"):
            opened(wrong)
    with pytest.raises(FormatError, match="'a', part 0: it is float64, but the whole tensor is float32"):
        opened(parts((0, 4), dtype=2))
    with pytest.raises(FormatError, match="part 1 has no entry of its own"):
        opened(parts((0, 4), (0, 4)))
    with pytest.raises(FormatError, match="its parts are larger than the data files"):
        opened(parts(*((4 * i, 4) for i in range(10)), shape=40), DATA[:100])


def test_keys_cannot_outgrow_their_file() -> None:
    # Each key is the one before and one byte more: 20,000 entries of a few bytes, 200 MB of keys.
    bomb = table(block([(i, b"a", b"") for i in range(20_000)]))
    tracemalloc.start()
    with pytest.raises(FormatError, match="its keys are longer than a file of this size can hold"):
        read_table(bomb, "m.index")
    assert tracemalloc.get_traced_memory()[1] < 100 * len(bomb)
    tracemalloc.stop()


def read_all(files: dict[str, bytes], prefix: str) -> None:
    """Read what can be read; nothing but a FormatError may come out, and no array larger than the files justify."""
    try:
        with TensorBundle(in_memory(files), prefix) as bundle:
            for tensor in bundle.values():
                with contextlib.suppress(FormatError):  # of a type that is not read
                    # Two-byte floats are widened to four.
                    assert tensor.read().nbytes <= 2 * sum(map(len, files.values()))
    except FormatError:
        pass


def changed(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    out = bytearray(data)
    for place, value in changes:
        out[place % len(out)] = value
    return bytes(out)


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4)
BUNDLES = st.sampled_from(
    [(PREFIX, {f"{PREFIX}.index": INDEX, f"{PREFIX}.data-00000-of-00001": DATA}), ("sharded.ckpt", SHARDED)]
)


@settings(max_examples=300, deadline=None)
@given(bundle=BUNDLES, changes=CHANGES, cut=st.integers(0, 1 << 20))
def test_bytes_changed_anywhere(bundle: tuple[str, dict[str, bytes]], changes: list[tuple[int, int]], cut: int) -> None:
    prefix, files = bundle
    index = files[f"{prefix}.index"]
    read_all(files | {f"{prefix}.index": changed(index, changes)}, prefix)
    read_all(files | {f"{prefix}.index": index[: cut % len(index)]}, prefix)


@settings(max_examples=300, deadline=None)
@given(bundle=BUNDLES, changes=CHANGES)
def test_blocks_changed_under_a_valid_checksum(
    bundle: tuple[str, dict[str, bytes]], changes: list[tuple[int, int]]
) -> None:
    prefix, files = bundle
    rows = [(0, key, value) for key, value in read_table(files[f"{prefix}.index"], "index").items()]
    read_all(files | {f"{prefix}.index": table(changed(block(rows), changes))}, prefix)


@settings(max_examples=300, deadline=None)
@given(bundle=BUNDLES, at=st.integers(0, 1 << 20), number=st.integers(0, 8), value=st.integers(0, (1 << 64) - 1))
def test_fields_that_claim_anything(bundle: tuple[str, dict[str, bytes]], at: int, number: int, value: int) -> None:
    prefix, files = bundle
    entries = read_table(files[f"{prefix}.index"], "index")
    key = list(entries)[at % len(entries)]
    for claim in (field(number, value), field(number, field(1, value)), field(2, field(2, field(1, value)))):
        rows = [(0, name, found + claim * (name == key)) for name, found in entries.items()]
        read_all(files | {f"{prefix}.index": table(block(rows))}, prefix)

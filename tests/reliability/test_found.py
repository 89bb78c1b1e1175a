"""What fuzzing found, each with the smallest file that shows it."""

import errno
import gzip
import io
import json
import os
import shutil
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import GOLDEN
from tiny import tiny_model
from tiny_cove import tiny_cove
from tiny_translator import tiny_translator

from polyseme.errors import FormatError, InputError
from polyseme.files.gunzip import Gunzip
from polyseme.files.whole import reason
from polyseme.formats import cove_state, translator_folder
from polyseme.formats.detect import open_model
from polyseme.formats.files import Files
from polyseme.formats.tensor_bundle import latest_prefix
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.shard_writer import ShardWriter
from polyseme.tasks.readers.opening import open_examples
from polyseme.text.choices import TOKENIZERS
from polyseme.text.corpus import Corpus
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.engine.optimizers import Optimizer
from polyseme.train.engine.settings import RunSettings
from polyseme.train.lm.text_store import open_store
from polyseme.train.translate.pair_store import ARRAYS, PairRecord, Pairs, write_store
from polyseme.train.translate.pair_store import open_store as open_pairs


def test_a_translator_without_the_weights_of_its_encoder(tmp_path: Path) -> None:
    translator_folder.write(tiny_translator(), tmp_path / "model")
    (tmp_path / "model" / "cove" / "model.safetensors").unlink()
    with pytest.raises(FormatError, match=r"cove: model\.safetensors is missing, which this model needs"):
        translator_folder.read(tmp_path / "model")


def test_a_missing_file_has_a_name(tmp_path: Path) -> None:
    files = Files.folder(tmp_path)
    assert files.shown("a.json") == str(tmp_path / "a.json")
    with pytest.raises(FormatError, match=r"a\.json is missing"):
        files.location("a.json")


@pytest.mark.parametrize("kind", ["nested", "meta torch.strided"])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_tensors_that_are_no_ordinary_ones(kind: str, tmp_path: Path) -> None:
    odd = torch.empty(3, device="meta")
    if kind == "nested":
        odd = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    cove_state.write(tiny_cove(), tmp_path / "model")
    (path,) = (tmp_path / "model").glob("*.pth")
    state = torch.load(path)
    torch.save({**state, next(iter(state)): odd}, path)
    with pytest.raises(FormatError, match=f"is a {kind} tensor, expected an ordinary one; refused"):
        open_model(tmp_path / "model")


def test_a_reason_is_one_line() -> None:
    assert (
        reason(OSError(errno.EISDIR, "read failed: time = now\n, errno = 21")) == "read failed: time = now , errno = 21"
    )


def test_a_whitening_that_declares_terabytes(tmp_path: Path) -> None:
    from polyseme.embed.embedder import Embedder
    from polyseme.files.checksum import crc32

    embedder = Embedder(tiny_model())
    text = [["the", "river", "bank"], ["the", "bank", "of", "a", "river"]]
    OccurrenceIndex.build(embedder, text, tmp_path / "index").nearest("the [bank]", whiten=True)
    path = tmp_path / "index" / "whitening.npy"
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }\n"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header)
    manifest = json.loads((tmp_path / "index" / "index.json").read_text())
    manifest["whitening"] = [path.stat().st_size, crc32(path)]
    (tmp_path / "index" / "index.json").write_text(json.dumps(manifest))
    with pytest.raises(FormatError, match=r"whitening\.npy: not"):
        OccurrenceIndex(tmp_path / "index", embedder).nearest("the [bank]", whiten=True)


def test_a_pending_part_of_an_index_that_names_what_is_not_there(tmp_path: Path) -> None:
    writer = ShardWriter(2)
    writer.add(["the", "bank"], [1], np.ones((1, 2), np.float32))
    writer.save(tmp_path / "pending.npz")
    arrays = dict(np.load(tmp_path / "pending.npz"))
    for name, value in (("occurrences", np.array([[0, 1, 7]], np.int32)), ("words", np.frombuffer(b"[3]", np.uint8))):
        np.savez(tmp_path / "damaged.npz", **{**arrays, name: value})
        with pytest.raises(FormatError, match=r"damaged\.npz: cannot be read or is damaged \(.*; begin again"):
            ShardWriter.restore(tmp_path / "damaged.npz", 2, advice="begin again")


@pytest.mark.parametrize("name", ["adamw", "adagrad"])
def test_the_state_of_an_optimizer_that_is_not_its_own(name: str) -> None:
    network = torch.nn.Linear(2, 2)
    settings = RunSettings.model_validate({"optimizer": name})
    optimizer = Optimizer(network, settings)
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step(0.1, None)
    state = optimizer.state()
    lost = next(key for key in state["dense"]["state"][0] if key != "step")
    state["dense"]["param_groups"][0]["lr"] = "x"  # never used
    Optimizer(network, settings).restore(state)
    del state["dense"]["state"][0][lost]
    with pytest.raises(ValueError, match="the optimiser has another kind of state for parameter 0"):
        Optimizer(network, settings).restore(state)


def test_stored_text_whose_ids_and_sentences_are_beyond_its_tables(tmp_path: Path) -> None:
    vocabulary = Vocabulary(("<S>", "</S>", "<UNK>"))
    (tmp_path / "whole.json").write_text('{"width": 2, "types": 3}')
    types, starts = np.array([0, 2, 1], np.int32), np.array([0, 3], np.int64)
    for part in ("training", "heldout"):
        types.tofile(tmp_path / f"{part}.types")
        starts.tofile(tmp_path / f"{part}.starts")
    np.zeros(3, np.int64).tofile(tmp_path / "outputs")
    np.array([0, 1, 2, 3, 4, 4], np.int32).tofile(tmp_path / "characters")
    assert open_store(tmp_path, vocabulary, [5, 5]).training.tokens == 1
    for bounds in ([5, 4], [4, 5], [5, 5, 5]):
        with pytest.raises(FormatError, match="the text is not as it was written"):
            open_store(tmp_path, vocabulary, bounds)
    np.array([0, (1 << 62) + 9, -(1 << 62), 3], np.int64).tofile(tmp_path / "training.starts")
    with pytest.raises(FormatError, match="the text is not as it was written"):
        open_store(tmp_path, vocabulary, [5, 5])


def _write_pair(folder: Path, word: str) -> None:
    """Store one pair of sentences of one word each."""
    one = Pairs(*(np.array(values) for values in ([0], [0, 1], [0], [0, 1])))
    record = PairRecord(
        source_tokenize=None,
        target_tokenize=None,
        source_words=[word],
        target_words=["<S>", "</S>", "<UNK>"],
        heldout_sources=[["a"]],
        heldout_references=["b"],
    )
    write_store(folder, one, one, np.zeros((1, 2), np.float32), record)


def test_packed_pairs_are_refused(tmp_path: Path) -> None:
    _write_pair(tmp_path / "pairs", "a")
    open_pairs(tmp_path / "pairs")
    with np.load(tmp_path / "pairs" / ARRAYS) as stored:
        arrays = dict(stored)
    for starts in (np.array([0.0, 1.0]), np.array([], int)):
        np.savez(tmp_path / "pairs" / ARRAYS, **{**arrays, "heldout_source_starts": starts})
        with pytest.raises(FormatError, match="the pairs are not as they were written"):
            open_pairs(tmp_path / "pairs")
    with zipfile.ZipFile(tmp_path / "pairs" / ARRAYS, "w") as archive:
        for name in arrays:
            archive.writestr(f"{name}.npy", b"no array")
    with pytest.raises(FormatError, match=r"not as (it was|they were) written"):
        open_pairs(tmp_path / "pairs")
    np.savez_compressed(tmp_path / "packed.npz", **{**arrays, "vectors": np.zeros((1, 1 << 20), np.float32)})
    shutil.copy(tmp_path / "packed.npz", tmp_path / "pairs" / ARRAYS)
    with pytest.raises(FormatError, match=r"not as it was written \(it would unpack to"):
        open_pairs(tmp_path / "pairs")


def test_stored_pairs_with_half_of_a_letter(tmp_path: Path) -> None:
    _write_pair(tmp_path / "pairs", "\ud800")
    with pytest.raises(FormatError, match="a word that is no text"):
        open_pairs(tmp_path / "pairs")


def test_an_entry_of_a_zip_without_a_name_is_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"")
    with pytest.raises(FormatError, match=r"model\.zip"):
        open_model(tmp_path / "model.zip")


def test_a_long_cell_of_mentions_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "data.conll"
    path.write_text(f"# begin document a\n0\tAnn\t(1)\n1\tsaw\t{'<w>' * 200_000}\n# end document\n")
    with pytest.raises(InputError, match=r"data\.conll:3: '<w><w>.* where mentions are expected as \(3, \(3\) or 3\)"):
        open_examples(path, task="coref", format="conll2012").read()


def test_zeros_behind_a_gzip_file_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "text.txt.gz"
    path.write_bytes(gzip.compress(b"the river bank\n") + gzip.compress(b"money\n"))
    os.truncate(path, 2 << 30)
    assert [sentence.tokens for sentence in Corpus([path], tokenize="none")] == [["the", "river", "bank"], ["money"]]


def test_gzip_files_that_are_damaged() -> None:
    packed = gzip.compress(bytes(1000))
    assert io.BufferedReader(Gunzip(io.BytesIO(packed + bytes(100_000) + packed))).read() == bytes(2000)
    wrong = (
        (packed[:-3], EOFError, "the file ends before"),
        (packed[:-8] + bytes(8), zlib.error, "incorrect data check"),
        (packed + b"\0ab", OSError, "b'ab' where a gzip file should go on or end"),
        (packed + b"\x1fab", zlib.error, "incorrect header check"),
    )
    for content, kind, message in wrong:
        with pytest.raises(kind, match=message):
            io.BufferedReader(Gunzip(io.BytesIO(content))).read()


def test_a_long_name_in_a_tag_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "text.vrt"
    path.write_text(f"<text id='a' {'b' * 300_000}>\n<s n = \"1\">\nThe\tDET\n</s>\n</text>\n")
    (sentence,) = Corpus([path], reader="vrt")
    assert (sentence.tokens, sentence.name, sentence.document) == (["The"], "1", "a")


def test_half_of_a_pair_in_every_tokeniser() -> None:
    """A command line that is not UTF-8 gives such text."""
    for tokenizer in TOKENIZERS:
        (tokens,) = Segmentation(tokenizer).sentences("caf\udce9 的\ud800河")
        assert "".join(tokens) == "caf\udce9的\ud800河"


def test_many_blank_lines_in_the_checkpoint_file_are_read_once() -> None:
    text = "\n" * 300_000 + 'model_checkpoint_path: "/theirs/model-2"'
    assert latest_prefix(["model-2.index", "model-7.index"], text) == "model-2"


@pytest.mark.parametrize("damage", ["version", "name"])
def test_a_pickle_in_a_zip_that_python_cannot_read(damage: str, tmp_path: Path) -> None:
    """Python raises NotImplementedError for the first and UnicodeDecodeError for the second."""
    shutil.copytree(GOLDEN / "many_langs" / "words_and_characters", tmp_path / "model")
    path = tmp_path / "model" / "encoder.pkl"
    torch.save(torch.load(path, map_location="cpu"), path)
    data = bytearray(path.read_bytes())
    listed = data.index(b"PK\1\2")
    if damage == "version":
        data[listed + 6] = 99  # of the zip format
    else:
        data[listed + 9] |= 8  # the name is UTF-8
        data[listed + 46] = 0xFF
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"encoder\.pkl: ") as caught:
        open_model(tmp_path / "model")
    assert "\n" not in str(caught.value)

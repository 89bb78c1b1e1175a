"""Twenty and more kinds of files that are not text, or odd, each with the message that is meant for it."""

import bz2
import doctest
import io
import lzma
import pickle
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from safetensors.torch import save

from polyseme.errors import InputError
from polyseme.text import not_text, repairs
from polyseme.text.corpus import Corpus
from polyseme.text.held_sentences import HeldSentences

CHINESE = "他在银行买了一本书。天黑了，我们走吧。这是我们的国家，大家都来了。"
JAPANESE = "昨日、男の子は雨が降っていたので家に帰りました。お母さんは台所で待っていました。"


def zipped(*names: str, stored: str = "") -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, stored or "x")
    return held.getvalue()


def tarred() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    return held.getvalue()


def by_library(write: Callable[[Path], object], folder: Path) -> bytes:
    write(folder / "made")
    return (folder / "made").read_bytes()


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = np.zeros(3)


def array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table a (b)")
    connection.close()


OF_FILES: dict[str, bytes] = {
    r"is a PDF, not text; extract its text first: pdftotext": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    r"is HTML, not text; take the text out of it first": b"\xef\xbb\xbf\n<!-- saved -->\n<!DOCTYPE html>\n<html><p>Hi",
    r"is PostScript, not text": b"%!PS-Adobe-3.0\n",
    r"is Rich Text \(RTF\), not text; save its text as UTF-8": b"{\\rtf1\\ansi Hello}",
    r"is an old Office document": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
    r"is a Word document, not text; save its text": zipped("[Content_Types].xml", "word/document.xml"),
    r"is an Excel workbook, not text": zipped("[Content_Types].xml", "xl/workbook.xml"),
    r"is an e-book \(EPUB\), not text; convert it": zipped("mimetype", stored="application/epub+zip"),
    r"is an OpenDocument file": zipped("mimetype", stored="application/vnd.oasis.opendocument.text"),
    r"is a zip archive, not text; unpack it": zipped("a.txt"),
    r"is a tar archive, not text; unpack it": tarred(),
    r"is a 7z archive": b"7z\xbc\xaf\x27\x1c\0\4",
    r"is compressed by bzip2, not text; decompress it first: bunzip2": bz2.compress(b"hello"),
    r"is compressed by xz, not text; decompress it first: unxz": lzma.compress(b"hello"),
    r"is compressed by Zstandard": b"\x28\xb5\x2f\xfd\x24\x05",
    r"is a PNG image, not text; recognise its text first \(OCR\)": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    r"is a JPEG image": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    r"is a WebP image": b"RIFF\x24\0\0\0WEBPVP8 ",
    r"is audio, not text; transcribe it first": b"RIFF\x24\0\0\0WAVEfmt ",
    r"is video or audio, not text; transcribe it first": b"\0\0\0\x18ftypmp42",
    r"is a program, not text; give text files": b"\x7fELF\2\1\1\0",
    r"is pickled data, not text": pickle.dumps({"a": 1}),
    r"is an archive of NumPy arrays": zipped("a.npy"),
    r"is a safetensors file, not text; it holds weights": save({"a": torch.zeros(2)}),
    r"is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8": "hello".encode("utf-16"),
    r"looks like text in UTF-16LE; convert it first: iconv -f UTF-16LE -t UTF-8 OLD > NEW": "Hello, you".encode(
        "utf-16-le"
    ),
    r"looks like text in UTF-16BE": "Hello, you".encode("utf-16-be"),
    r"looks like text in UTF-32LE": "Hello, you".encode("utf-32-le"),
    r"looks like text in GB18030; convert it first: iconv -f GB18030": CHINESE.encode("gb18030"),
    r"looks like text in Big5": "他在這裡的時候，我們都不知道。國家是大家的。".encode("big5"),
    r"looks like text in Shift_JIS": JAPANESE.encode("shift_jis"),
    r"looks like text in UTF-16LE;": CHINESE.encode("utf-16-le"),
    r"does not look like text: \d+ of its first \d+ characters": zlib.compress(bytes(range(256)) * 9)
    + bytes(range(128, 256)),
}
MADE: dict[str, Callable[[Path], object]] = {
    r"is HDF5, not text; it holds numbers": hdf5,
    r"is Parquet, not text; write its column of text": lambda path: pyarrow.parquet.write_table(
        pyarrow.table({"a": [1]}), path
    ),
    r"is an SQLite database": database,
    r"is a NumPy array": array,
}


@pytest.mark.parametrize("message", [*OF_FILES, *MADE])
def test_each_is_refused_by_its_name(message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(OF_FILES[message] if message in OF_FILES else by_library(MADE[message], tmp_path))
    with pytest.raises(InputError, match=rf"^{tmp_path}/a\.txt: {message}") as caught:
        list(Corpus([tmp_path / "a.txt"], tokenize=None))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "PK is a name",
        "BZhang said",
        "ID3 tags",
        "<p>one</p>",
        "GIF8 or not",
        "He said: ustar",
        "\ufeffPAR1 list",
        '{"a": 1}',
        "MZ",
    ],
)
def test_text_that_begins_like_something_else_is_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert [one.tokens for one in Corpus([tmp_path / "a.txt"], tokenize=None)] == [text.lstrip("\ufeff").split()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"text " * 900 + b"\xff\xfe\xfd " * 2000,
            r"^6,000 invalid UTF-8 sequences replaced by U\+FFFD, the first at .*a\.txt:1 \(48% of the text: it is "
            r"damaged or in another encoding, convert it to UTF-8\)$",
        ),
        (b"a\0b" + b" word" * 9, r"^1 NUL replaced by U\+FFFD, the first at .*:1$"),
        (b"one " + b"x" * 1001 + b"\n" + b"y" * 2000, r"^tokens of more than 1,000 characters: 2, the first at .*:1$"),
        (b"one\n" + b"word " * 210_000, r"^lines of more than 1,000,000 characters: 1, the first at .*a\.txt:2$"),
        ("one \u200b two \ufe0f".encode(), r"^tokens without a visible character: 2, the first at .*:1$"),
        (b"an ordinary line\n", r"^nothing replaced$"),
    ],
)
def test_odd_text_is_counted(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    corpus = Corpus([tmp_path / "a.txt"], tokenize=None)
    list(corpus)
    with pytest.raises(InputError, match=message):
        raise InputError(str(corpus.repairs))
    assert bool(corpus.repairs) == (str(corpus.repairs) != "nothing replaced")


def test_odd_tokens_in_memory() -> None:
    corpus = HeldSentences([["one"], ["", "x" * 5000]])
    for _ in range(2):
        list(corpus)
        assert str(corpus.repairs) == (
            "tokens of more than 1,000 characters: 1, the first at sentence 1; tokens without a visible character: 1, "
            "the first at sentence 1"
        )


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(repairs) == (0, 1)
    assert doctest.testmod(not_text) == (0, 0)

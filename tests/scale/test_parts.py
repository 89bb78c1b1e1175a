"""Parts of files: read one after the other they are the whole file, wherever it is divided."""

import gzip
import json
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.scale.parts import Part, divide, find_files
from polyseme.scale.stretch import opened
from polyseme.text.choices import Tokenizer
from polyseme.text.corpus import Corpus
from polyseme.text.readers import Sentence
from polyseme.text.segmentation import Segmentation

RUNNING = """It was a bright cold day in April, and the clocks were
striking thirteen. Winston hurried home.

\tHe slipped quickly through the glass doors.\x20
 \t
Ragged lines.\r
\r
\ufeffA mark at the beginning of a line is text. The bank was
closed.

PK\x03\x04 is no archive here.
"""


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def conllu(documents: int) -> str:
    text = ""
    for number in range(documents):
        text += f"# newdoc id = d{number}\n"
        for at in range(3):
            text += f"# sent_id = s{number}-{at}\n1\tword{number}\t" + "\t".join("_" * 8) + "\n\n"
    return text


def read_parts(parts: list[Part], tokenize: Tokenizer | None) -> list[tuple[Sentence, str | None, int]]:
    """Sentences of all parts, with their document and their line in the file."""
    found: list[tuple[Sentence, str | None, int]] = []
    lines = 0
    for part in parts:
        lines = lines if part.start else 0
        with opened(part, Segmentation(tokenize)) as stretch:
            for sentence in stretch.sentences:
                assert sentence.line is not None
                found.append((sentence, sentence.document, lines + sentence.line))
            lines += stretch.lines.number
    return found


@pytest.mark.parametrize(
    ("name", "content", "tokenize", "most"),
    [
        ("tokens.txt", "".join(f"a{n} b\n{'' if n % 3 else chr(10)}" for n in range(50)), None, 20),
        ("crlf.txt", "".join(f"a{n} b\r\n" for n in range(50)), None, 20),
        ("running.txt", RUNNING * 20, "en", 20),
        ("lines.jsonl", "".join(json.dumps({"id": n, "text": f"One {n}. Two."}) + "\n" for n in range(40)), "en", 20),
        ("trees.conllu", conllu(12), None, 12),
        ("proteins.fasta", "".join(f">p{n} x\nMKV\nLA*\n" for n in range(40)), None, 20),
        ("one-line.txt", "word " * 1000, None, 1),
    ],
)
@pytest.mark.parametrize("part_bytes", [1, 7, 64, 10_000_000])
def test_parts_are_the_whole(
    tmp_path: Path, name: str, content: str, tokenize: Tokenizer | None, most: int, part_bytes: int
) -> None:
    path = write(tmp_path, name, content)
    files = find_files([path], "auto")
    parts = divide(files, tokenize, part_bytes)
    corpus = Corpus([path], tokenize=tokenize)
    wanted = [(sentence, sentence.document, sentence.line) for sentence in corpus]
    assert read_parts(parts, tokenize) == wanted
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, len(content.encode()))
    if part_bytes == 1:
        assert len(parts) >= most
    if part_bytes > len(content):
        assert len(parts) == 1


def test_files_that_can_only_be_read_whole(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "a.txt.gz", gzip.compress(b"a b\n" * 1000)),
        write(tmp_path, "b.vrt", '<text id="x">\n' + "<s>\nThe\n</s>\n" * 100 + "</text>\n"),
    ]
    assert [part.name for part in divide(find_files(paths, "auto"), None, 10)] == [
        "00000-a.txt.gz-00000.parquet",
        "00001-b.vrt-00000.parquet",
    ]


def test_a_blank_line_across_two_looks_is_found(tmp_path: Path) -> None:
    for before in range((1 << 16) - 3, (1 << 16) + 3):
        path = write(tmp_path, "a.txt", b"x" * (before + 1) + b"\n \t\n" + b"y" * 10)
        parts = divide(find_files([path], "auto"), "en", 1)
        assert [part.start for part in parts] == [0, before + 5]


def test_folders_and_names(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    (folder / "b").mkdir(parents=True)
    write(folder, "z ä?.txt", "a\n")
    write(folder, ".hidden", "a\n")
    write(folder / "b", "a.txt", "a\n")
    expected = Corpus([folder]).identity()
    files = find_files([str(folder)], "auto")
    assert [[file.location.shown, file.size] for file in files] == [one[:2] for one in expected]
    assert [part.name for part in divide(files, None, 100)] == [
        "00000-a.txt-00000.parquet",
        "00001-z___.txt-00000.parquet",
    ]
    by_address = find_files([f"local://{folder}"], "auto")  # an address that fsspec knows and pyarrow does not
    assert [file.location.read() for file in by_address] == [b"a\n", b"a\n"]
    assert [(file.size, file.layout) for file in by_address] == [(2, "lines"), (2, "lines")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("-", "standard input \\(-\\) cannot be divided among machines"),
        ("missing.txt", "missing.txt: no such file or folder"),
        ("nowhere://a/b", "nowhere://a/b: Protocol not known: nowhere"),
        ("local:///missing/at/all", "no such file, and no folder with files"),
    ],
)
def test_what_is_no_source(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_files([source], "auto")

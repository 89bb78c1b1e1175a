"""Files of word vectors: every form read, and every kind of damage named with its place."""

import bz2
import gzip
import json
import pickle
import re
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDEN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyseme.errors import FormatError, InputError, PolysemeError
from polyseme.formats import word_vectors
from polyseme.formats.word_vectors import stream
from polyseme.models.static import WordVectors

WORDS = ["the", "曹操", "naïve", "3", "x" * 40]
MATRIX = np.array([[0.5, -1.25, 3e-5], [1, 2, 3], [-0.1, 0.2, -0.3], [4e10, 0, 1], [7, 8, 9]], dtype=np.float32)


def glove(*, ending: str = "\n", between: str = " ") -> str:
    rows = MATRIX.tolist()
    return "".join(
        between.join([word, *(f"{x:.9g}" for x in row)]) + ending for word, row in zip(WORDS, rows, strict=True)
    )


def word2vec(newline: bytes = b"\n") -> bytes:
    return b"5 3\n" + b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + newline for word, row in zip(WORDS, MATRIX, strict=True)
    )


FORMS: dict[str, tuple[bytes, str]] = {
    "glove": (glove().encode(), "GloVe text"),
    "no line feed at the end": (glove().rstrip().encode(), "GloVe text"),
    "byte order mark": (b"\xef\xbb\xbf" + glove().encode(), "GloVe text"),
    "tabs": (glove(between="\t").encode(), "GloVe text"),
    "two spaces": (glove(between="  ").encode(), "GloVe text"),
    "word2vec text": (f"5 3\n{glove()}".encode(), "word2vec text"),
    "windows": (b"5 3\r\n" + glove(ending="\r\n").encode(), "word2vec text"),
    "fasttext": (b"5 3\n" + glove(ending=" \n").encode(), "word2vec text"),
    "blank lines": (b"5 3\n" + glove(ending="\n\n").encode(), "word2vec text"),
    "binary": (word2vec(), "word2vec binary"),
    "binary without line feeds": (word2vec(b""), "word2vec binary"),
}


def path_of(tmp_path: Path, content: bytes | str) -> Path:
    path = tmp_path / "vectors"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(tmp_path: Path, content: bytes | str, message: str) -> None:
    """The message, without the folder in front."""
    with pytest.raises(FormatError) as caught:
        word_vectors.read(path_of(tmp_path, content))
    assert str(caught.value).removeprefix(f"{tmp_path}/") == message


class TestForms:
    @pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("form", FORMS)
    def test_read(self, form: str, packed: bool, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream.Stream.read, "__defaults__", (chunk,))
        content, kind = FORMS[form]
        got = word_vectors.read(path_of(tmp_path, gzip.compress(content) if packed else content))
        assert got.words == tuple(WORDS)
        assert (got.matrix == MATRIX).all()
        assert got.matrix.dtype == np.float32
        assert (got.source, got.duplicates, got.repaired) == (kind, 0, 0)

    @pytest.mark.parametrize("name", ["vectors.txt", "vectors.bin"])
    def test_what_gensim_wrote(self, name: str) -> None:
        expected = json.loads((GOLDEN / "gensim" / "expected.json").read_text(encoding="utf-8"))
        got = word_vectors.read(GOLDEN / "gensim" / name)
        assert list(got.words) == expected["words"]
        assert (got.matrix == np.array(expected["vectors"], dtype=np.float32)).all()

    @pytest.mark.parametrize("form", ["glove", "word2vec text", "binary", "binary without line feeds"])
    def test_limit(self, form: str, tmp_path: Path) -> None:
        # What comes after the limit is not looked at: the header's count cannot be held against it.
        path = path_of(tmp_path, FORMS[form][0])
        got = word_vectors.read(path, limit=2)
        assert got.words == tuple(WORDS[:2])
        assert (got.matrix == MATRIX[:2]).all()
        assert len(word_vectors.read(path, limit=9).words) == 5
        with pytest.raises(InputError, match="limit is 0, expected at least 1 word"):
            word_vectors.read(path, limit=0)

    def test_words_with_spaces(self, tmp_path: Path) -> None:
        words = ["the", ". . .", "at name@domain.com", "windows 10", "windows 8.1", "a\u00a0b", "\u3000", "b"]
        text = "".join(f"{word} 0.1{number} -{number}.5\n" for number, word in enumerate(words))
        got = word_vectors.read(path_of(tmp_path, text))
        assert got.words == tuple(words)
        np.testing.assert_allclose(got.matrix, [[float(f"0.1{n}"), -n - 0.5] for n in range(8)])
        assert word_vectors.read(path_of(tmp_path, "8 2\n" + text)).words == tuple(words)

    @given(
        st.lists(
            st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
            min_size=1,
            max_size=20,
        )
    )
    def test_every_number_to_the_last_bit(self, numbers: list[list[float]]) -> None:
        reader = word_vectors.text._Reader("file", 3, None)
        lines = [" ".join(["word", *map(repr, row)]).encode() for row in numbers]
        _, rows = reader.parse(lines, 1)
        assert (rows == np.array(numbers, dtype=np.float32)).all()

    @pytest.mark.parametrize("header", ["", "6 1\n"])
    def test_doubles_keep_their_first_vector(self, header: str, tmp_path: Path) -> None:
        got = word_vectors.read(path_of(tmp_path, f"{header}a 1\nb 2\na 3\nc 4\nb 5\nd 6\n"))
        assert (got.words, got.matrix.ravel().tolist(), got.duplicates) == (("a", "b", "c", "d"), [1, 2, 4, 6], 2)

    def test_broken_utf8_is_replaced_and_counted(self, tmp_path: Path) -> None:
        got = word_vectors.read(path_of(tmp_path, b"a 1\nb 2\nc\xe6\x9b 3\nd\xef\xbf\xbd 4\n"))
        assert (got.words, got.repaired) == (("a", "b", "c\ufffd", "d\ufffd"), 1)
        assert word_vectors.read(tmp_path / "vectors", limit=2).repaired == 0

    def test_a_table_grows_without_being_copied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream.Stream.read, "__defaults__", (1 << 16,))
        matrix = np.random.default_rng(0).standard_normal((4_000, 500)).astype(np.float32)
        path = tmp_path / "vectors"
        path.write_bytes(b"4000 500\n" + b"".join(b"%d " % n + row.tobytes() for n, row in enumerate(matrix)))
        tracemalloc.start()
        try:
            got = word_vectors.read(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert (got.matrix == matrix).all()
        # The table with a quarter to spare, the words and their dictionary, and what is looked at to tell the format.
        assert peak < 1.25 * matrix.nbytes + 4_000 * 200 + (3 << 20) < 1.8 * matrix.nbytes
        with pytest.raises(ValueError, match="read-only"):
            got.matrix[0] = 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(FORMS)), st.integers(0, 200), st.integers(0, 4), st.binary(max_size=4), st.booleans())
def test_any_damage_is_either_read_or_named(
    tmp_path: Path, form: str, place: int, gone: int, instead: bytes, packed: bool
) -> None:
    content = FORMS[form][0]
    content = gzip.compress(content) if packed else content
    try:
        got = word_vectors.read(path_of(tmp_path, content[:place] + instead + content[place + gone :]))
    except PolysemeError:
        return
    assert np.isfinite(got.matrix).all()


class TestTextDamage:
    AFTER = "the line is damaged or the file truncated: fetch it again, or delete the line"

    def test_ragged_lines(self, tmp_path: Path) -> None:
        for header, why in (("", "as most of the first lines have"), ("3 2\n", "as the header on line 1 says")):
            for second, got in (("b 1", 1), ("b .123 .456 .789", 3), ("b", 0), ("b  1", 1)):
                refused(
                    tmp_path,
                    f"{header}a 1 2\n\n{second}\nc 1 2\n",
                    f"vectors:{4 if header else 3}: the line that begins with 'b' ends in {got} numbers, expected 2 "
                    f"{why}; {self.AFTER}",
                )

    def test_the_first_line_is_ragged(self, tmp_path: Path) -> None:
        for line, got in (("a 1 2", 2), ("a 1", 1), ("a", 0)):
            refused(
                tmp_path,
                f"2 3\n{line}\nb 1 2 3\n",
                f"vectors:2: the line that begins with 'a' ends in {got} numbers, expected 3 as the header on line 1 "
                f"says; {self.AFTER}",
            )

    @pytest.mark.parametrize("bad", ["x", "nan", "-inf", "1e39", "0x10", "1_0", "1,5", "--1"])
    def test_what_is_not_a_number(self, bad: str, tmp_path: Path) -> None:
        expected = f"expected 2 finite numbers as most of the first lines have; {self.AFTER}"
        refused(tmp_path, f"a 1 2\nb 1 2\nc {bad} 2\n", f"vectors:3: '{bad}' in the vector of 'c', {expected}")

    def test_headers(self, tmp_path: Path) -> None:
        after = "the file is truncated or its header wrong: fetch it again, or correct line 1"
        refused(tmp_path, "3 1\na 1\nb 2\n", f"vectors: ends after 2 words, but the header on line 1 says 3; {after}")
        refused(tmp_path, "3 1", f"vectors: ends after 0 words, but the header on line 1 says 3; {after}")
        after = "in the header on line 1; correct line 1, or fetch the file again"
        refused(tmp_path, "1 1\na 1\n\nb 2\nc 3", f"vectors:4: one word more than the 1 {after}")
        for words, dim in ((0, 5), (5, 0), (1, 2**40)):
            refused(
                tmp_path,
                f"{words} {dim}\na 1\n",
                f"vectors:1: the header says {words} words of {dim:,} numbers; expected at least one word and 1 to "
                "1,048,576 numbers; correct line 1 or fetch the file again",
            )

    def test_another_encoding(self, tmp_path: Path) -> None:
        text = "".join(f"{word} 1 2\n" for word in ("曹操", "孔明", "the"))
        refused(
            tmp_path,
            text.encode("gbk"),
            "vectors: 2 of 3 words are not UTF-8; convert the file to UTF-8 if it is in another encoding, or fetch "
            "it again",
        )


class TestBinaryDamage:
    WRONG = "the header's numbers are wrong or the file is damaged; fetch it again"

    @pytest.mark.parametrize("newline", [b"", b"\n"])
    def test_cut_off_anywhere(self, newline: bytes, tmp_path: Path) -> None:
        whole = word2vec(newline).removesuffix(b"\n")
        row = len(b"the " + bytes(12) + newline)
        for length in range(24, len(whole)):
            with pytest.raises(FormatError) as caught:
                word_vectors.read(path_of(tmp_path, whole[:length]))
            assert f"ends at byte {length} within word " in str(caught.value)
        refused(
            tmp_path,
            whole[: 4 + row + 3],
            f"vectors: ends at byte {4 + row + 3} within word 2 of the 5 in its header, each with 3 numbers; "
            "the file is truncated, fetch it again",
        )

    def test_more_than_the_header_says(self, tmp_path: Path) -> None:
        refused(
            tmp_path,
            word2vec(b"") + b"more",
            f"vectors: continues at byte {len(word2vec(b''))} after the 5 words of 3 numbers in its header; "
            f"{self.WRONG}",
        )

    def test_vectors_of_another_length(self, tmp_path: Path) -> None:
        for dim in (2, 4):
            with pytest.raises(FormatError, match=r"header"):
                word_vectors.read(path_of(tmp_path, word2vec().replace(b"5 3", b"5 %d" % dim, 1)))

    def test_no_word(self, tmp_path: Path) -> None:
        content = b"2 1\na \0\0\0\0b\nc \0\0\0\0"
        refused(tmp_path, content, f"vectors: byte 10: no word and space where word 2 should begin; {self.WRONG}")
        content = b"2 1\na \0\0\0\0" + b"\1" * (1 << 17)
        refused(tmp_path, content, f"vectors: byte 10: no word and space where word 2 should begin; {self.WRONG}")

    def test_nan(self, tmp_path: Path) -> None:
        content = b"2 1\na \0\0\0\0b \0\0\xc0\x7f"
        refused(
            tmp_path,
            content,
            "vectors: byte 12: the vector of word 2 ('b') holds NaN or infinity; expected 1 finite numbers; "
            + self.WRONG,
        )


class TestOtherFiles:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty; expected word vectors"),
            (gzip.compress(b""), "is empty; expected word vectors"),
            (pickle.dumps({"a": 1}), "is a pickle (gensim's own .kv or .model), which can run any code when it is "),
            (b"\x89HDF\r\n\x1a\n" + bytes(50), "is an HDF5 file, as a biLM's weights are, and not word vectors; "),
            (b"\xba\x16\x4f\x2f" + bytes(50), "is a fastText model (.bin); only its word vectors are read: give the "),
            (b"\x93NUMPY" + bytes(50), "is a matrix without its words (a .npy); "),
            (bz2.compress(b"a 1 2\n"), "is compressed by bzip2; unpack it first (of compressed files only gzip is"),
            ("a 1 2\n".encode("utf-16"), "is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8"),
            (b"It was a dark night.\nAnd so on.\n", "not word vectors: most of its first lines do not end in a number"),
            (b"\n\n", "not word vectors: most of its first lines do not end in a number"),
            (bytes(range(256)) * 20, "not word vectors: most of its first lines do not end in a number"),
        ],
        # Names of their own: made from the bytes they would change with the clock in gzip's header.
        ids=["empty", "gzip", "pickle", "hdf5", "fasttext", "npy", "bzip2", "utf-16", "prose", "blank", "bytes"],
    )
    def test_named(self, content: bytes, message: str, tmp_path: Path) -> None:
        path = path_of(tmp_path, content)
        with pytest.raises(FormatError, match=re.escape(f"{path}: {message}")) as caught:
            word_vectors.read(path)
        assert "\n" not in str(caught.value)

    def test_a_zip_is_named_with_what_it_holds(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
            archive.writestr("glove.50d.txt", glove())
            archive.writestr("glove.100d.txt", glove())
        message = "is a zip; unpack it and give one file of word vectors (it holds glove.100d.txt, glove.50d.txt)"
        with pytest.raises(FormatError, match=re.escape(message)):
            word_vectors.read(tmp_path / "glove.zip")
        with pytest.raises(FormatError, match=r"is a zip; unpack it and give one file of word vectors$"):
            word_vectors.read(path_of(tmp_path, gzip.compress((tmp_path / "glove.zip").read_bytes())))

    def test_gzip_that_unpacks_to_too_much(self, tmp_path: Path) -> None:
        path = path_of(tmp_path, gzip.compress(b"".join(b"w%d 1 2 3 4\n" % number for number in range(8)) * 200_000))
        with pytest.raises(
            FormatError, match=r"[\d,]+ bytes would unpack to [\d,]+, more than 20 times as many; refus"
        ):
            word_vectors.read(path)

    @pytest.mark.parametrize("kept", [15, -12])
    def test_cut_gzip(self, kept: int, tmp_path: Path) -> None:
        path = path_of(tmp_path, gzip.compress(FORMS["binary"][0])[:kept])
        with pytest.raises(
            FormatError, match=r"cannot be read after byte \d+ \(.+\); the file is damaged or truncated"
        ):
            word_vectors.read(path)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"none: cannot be read \(No such file or directory\); expected a file of"):
            word_vectors.read(tmp_path / "none")


class TestFolder:
    @pytest.fixture
    def saved(self, tmp_path: Path) -> Path:
        vectors = WordVectors([*WORDS[:-1], ""], MATRIX, source="somewhere", duplicates=3, repaired=1)
        word_vectors.write(vectors, tmp_path / "saved")
        return tmp_path / "saved"

    def test_there_and_back(self, saved: Path) -> None:
        assert sorted(path.name for path in saved.iterdir()) == ["config.json", "vectors.npy", "words.txt"]
        got = word_vectors.read(saved)
        assert got.words == (*WORDS[:-1], "")
        assert (got.matrix == MATRIX).all()
        assert isinstance(got.matrix.base, np.memmap)
        assert (got.source, got.duplicates, got.repaired) == ("somewhere", 3, 1)
        assert word_vectors.read(saved, limit=2).words == tuple(WORDS[:2])

    def test_whole_or_not_at_all(self, tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        vectors = word_vectors.read(saved)
        with pytest.raises(InputError, match="saved: exists already; give the name of a new folder"):
            word_vectors.write(vectors, saved)

        def fail(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np, "save", fail)
        with pytest.raises(OSError, match=r"out: could not be written \(No space left on device\)"):
            word_vectors.write(vectors, tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["saved"]

    @pytest.mark.parametrize("word", ["a\nb", "\ud800"])
    def test_words_that_a_line_cannot_hold(self, word: str, tmp_path: Path) -> None:
        vectors = WordVectors(["a", word], MATRIX[:2])
        with pytest.raises(InputError, match=r"out: word 1 is .+, which words.txt cannot hold"):
            word_vectors.write(vectors, tmp_path / "out")

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("words.txt", b"a\nb\nc\nd\n", "words.txt: 4 whole lines, but config.json says 5 words; "),
            (
                "words.txt",
                b"a\nb\nc\nd\ne",
                "words.txt: 4 whole lines and a part of one, but config.json says 5 words; ",
            ),
            ("words.txt", b"a\nb\nc\nd\ne\nf", "words.txt: 5 whole lines and a part of one, but config.json says 5 "),
            ("words.txt", None, "words.txt: missing; get the folder again"),
            ("words.txt", b"a\nb\na\nd\ne\n", "saved: the word 'a' occurs twice; expected each word once; get the"),
            ("words.txt", b"a\nb\n\xff\nd\ne\n", "words.txt: byte 4 is not UTF-8 text; expected text"),
            ("vectors.npy", None, "vectors.npy: missing; get the folder again"),
            ("vectors.npy", b"", "vectors.npy: cannot be read ("),
            ("vectors.npy", b"\x93NUMPY\1\0\x10\0{'descr': '<f4', (", "vectors.npy: cannot be read ("),
            ("vectors.npy", pickle.dumps(MATRIX), "vectors.npy: cannot be read ("),
            ("config.json", b"{", "config.json: not JSON"),
            ("config.json", b"[]", "config.json: holds a JSON list"),
            ("config.json", None, "saved: contains no word vectors; expected a folder written by StaticVectors.save"),
            ("config.json", b'{"format": "polyseme"}', "saved: is a biLM and not word vectors; polyseme.load reads it"),
            (
                "config.json",
                b'{"format": "polyseme word vectors", "words": "5"}',
                "config.json: words is '5', expected a whole number; get the folder again",
            ),
            (
                "config.json",
                b'{"format": "polyseme word vectors", "words": 5, "dim": 4, "duplicates": 0, "repaired": 0}',
                "vectors.npy: float32 of shape (5, 3), but config.json says float32 of shape (5, 4)",
            ),
        ],
    )
    def test_damage(self, name: str, content: bytes | None, message: str, saved: Path) -> None:
        (saved / name).unlink()
        if content is not None:
            (saved / name).write_bytes(content)
        with pytest.raises((FormatError, InputError), match=re.escape(message)):
            word_vectors.read(saved)

    def test_a_cut_matrix(self, saved: Path) -> None:
        content = (saved / "vectors.npy").read_bytes()
        (saved / "vectors.npy").write_bytes(content[:-1])
        with pytest.raises(FormatError, match=r"vectors.npy: cannot be read \(.+\); the file is damaged or truncated"):
            word_vectors.read(saved)

"""Vectors in the form of word2vec: what gensim wrote comes back, and gensim reads what is written."""

from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDEN, Command, refused

from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError
from polyseme.models.static import WordVectors

GENSIM = GOLDEN / "gensim"


@pytest.mark.parametrize("binary", [True, False])
def test_what_gensim_wrote_is_written_again(binary: bool, tmp_path: Path) -> None:
    vectors = StaticVectors.load(GENSIM / "vectors.bin")
    vectors.save_word2vec(tmp_path / "again", binary=binary)
    again = StaticVectors.load(tmp_path / "again")
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.table.matrix, vectors.table.matrix)
    written = (tmp_path / "again").read_bytes()
    if binary:  # the same bytes, but for the line feed after each vector that gensim leaves out
        width = 4 * vectors.dim
        plain, rest = [], written.split(b"\n", 1)
        for word in vectors.words:
            size = len(word.encode()) + 1 + width
            plain.append(rest[1][:size])
            assert rest[1][size : size + 1] == b"\n"
            rest[1] = rest[1][size + 1 :]
        assert b"".join([rest[0], b"\n", *plain]) == (GENSIM / "vectors.bin").read_bytes()
    else:
        assert written.splitlines()[0] == (GENSIM / "vectors.txt").read_bytes().splitlines()[0]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_gensim_reads_it(binary: bool, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models", reason="gensim is not installed")
    words = ["the", "Rome", "曹操", "naïve", "</s>", "x" * 200, "a\u00a0b", "\u3000"]
    matrix = np.random.default_rng(2).standard_normal((len(words), 7)).astype(np.float32)
    vectors = StaticVectors(WordVectors(words, matrix))
    vectors.save_word2vec(tmp_path / "vectors", binary=binary)
    found = gensim.KeyedVectors.load_word2vec_format(tmp_path / "vectors", binary=binary)
    assert found.index_to_key == words
    np.testing.assert_array_equal(found.vectors, matrix)
    near, expected = vectors.nearest("Rome", 3), found.most_similar("Rome", topn=3)
    assert [word for word, _ in near] == [word for word, _ in expected]
    assert [score for _, score in near] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_the_command(run: Command, tmp_path: Path) -> None:
    for to in ("word2vec", "word2vec-text"):
        done = run("convert", GENSIM / "vectors.txt", tmp_path / to, "--to", to)
        assert f"{to}: written, 5 words of 4 numbers" in done.err
        assert StaticVectors.load(tmp_path / to).words == StaticVectors.load(GENSIM / "vectors.bin").words
    refused(run("convert", GENSIM / "vectors.txt", tmp_path / "word2vec", "--to", "word2vec"), "exists already")
    refused(run("convert", "english-small", tmp_path / "no", "--to", "word2vec"), "english-small")


@pytest.mark.parametrize("word", ["New York", "a\tb", "", "x\n", "\ud800"])
def test_a_word_that_it_cannot_hold(word: str, tmp_path: Path) -> None:
    vectors = StaticVectors(WordVectors(["the", word], np.eye(2, dtype=np.float32)))
    with pytest.raises(InputError, match=r"word 1 is .*, and word2vec's form cannot hold a word with whitespace"):
        vectors.save_word2vec(tmp_path / "a.bin")
    assert not list(tmp_path.iterdir())

"""Static vectors wherever a model can be: loaded, embedded, indexed, probed, converted."""

import gzip
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import GOLDEN, Command, refused
from tiny import tiny_model

import polyseme
from polyseme import OccurrenceIndex, ScalarMix, StaticVectors
from polyseme.embed.load import load_embedder
from polyseme.embed.source import VectorSource
from polyseme.errors import FormatError, InputError
from polyseme.formats import native
from polyseme.formats.detect import open_any, open_model
from polyseme.models.static import WordVectors
from polyseme.study.probe import probe
from polyseme.study.sense_induction import induce_senses

GENSIM = GOLDEN / "gensim"
WORDS = ["the", "river", "bank", "of", "money", "lent"]
MATRIX = np.random.RandomState(1).standard_normal((6, 8)).astype(np.float32)
SENTENCES = [["The", "bank", "of", "the", "river"], [], ["The", "bank", "lent", "money"], ["xyz"]]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    """A GloVe file whose numbers are exactly those of `MATRIX`."""
    path = tmp_path / "glove.txt"
    lines = (
        f"{word} {' '.join(f'{float(number):.12g}' for number in row)}\n"
        for word, row in zip(WORDS, MATRIX, strict=True)
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


def rows(sentence: list[str]) -> np.ndarray:
    """(T, D) by plain lookup."""
    return np.array([MATRIX[WORDS.index(w.lower())] if w.lower() in WORDS else np.zeros(8) for w in sentence])


class TestLoad:
    def test_every_kind_is_recognised_by_its_content(self, glove: Path, tmp_path: Path) -> None:
        StaticVectors.load(glove).save(tmp_path / "folder")
        (tmp_path / "squeezed").write_bytes(gzip.compress(glove.read_bytes()))
        (tmp_path / "alone").mkdir()
        (tmp_path / "alone" / "vectors").write_bytes(glove.read_bytes())
        for path in (glove, tmp_path / "folder", tmp_path / "squeezed", tmp_path / "alone"):
            source = polyseme.load(path)
            assert isinstance(source, StaticVectors)
            assert isinstance(source, VectorSource)
            assert source.words == tuple(WORDS)
            assert source.path == str(path)
            assert source.name == path.name
        expected = json.loads((GENSIM / "expected.json").read_text(encoding="utf-8"))
        for name in ("vectors.txt", "vectors.bin"):
            assert isinstance(polyseme.load(GENSIM / name), StaticVectors)
        assert expected

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"precision": "int8"}, "so precision 'int8' has no meaning; leave it out"),
            ({"stateful": True}, "so stateful has no meaning; leave it out"),
            ({"device": "cuda:1"}, "so device 'cuda:1' has no meaning; leave it out"),
        ],
    )
    def test_options_of_models_are_refused(self, options: dict[str, Any], message: str, glove: Path) -> None:
        with pytest.raises(InputError, match=r"glove\.txt: static word vectors are looked up in a table.*" + message):
            polyseme.load(glove, **options)

    def test_parts_of_models_are_refused(self, glove: Path, tmp_path: Path) -> None:
        StaticVectors.load(glove).save(tmp_path / "folder")
        with pytest.raises(InputError, match=r"glove\.txt: a file of word vectors has no vocabulary; leave it out"):
            polyseme.load(glove, vocabulary=glove)
        with pytest.raises(InputError, match=r"folder: polyseme word vectors has no softmax and vocabulary; leave"):
            polyseme.load(tmp_path / "folder", vocabulary=glove, softmax=glove)

    def test_where_a_model_is_needed(self, glove: Path) -> None:
        for opened in (open_model, load_embedder, polyseme.Elmo):
            with pytest.raises(
                InputError, match=r"glove\.txt: static word vectors \(GloVe text\), but a model that reads words in con"
            ):
                opened(glove)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "not a model file of a known format"),
            (b"Chapter 1\nIt was dark.\nIn 1984 10\n", "not a model file of a known format"),
            (b"\x80\x04pickled", r"is a pickle \(gensim's own \.kv or \.model\)"),
            (b"\xba\x16\x4f\x2f0000", r"is a fastText model \(\.bin\); only its word vectors are read"),
        ],
    )
    def test_other_files(self, content: bytes, message: str, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(FormatError, match=message):
            polyseme.load(tmp_path / "file")

    def test_within_a_zip(self, glove: Path, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
            archive.write(glove, "glove.txt")
        with pytest.raises(FormatError, match=r"glove\.zip: glove\.txt cannot be read within a zip; unpack it first"):
            polyseme.load(tmp_path / "glove.zip")
        with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
            archive.writestr("notes.txt", "nothing here")
        with pytest.raises(FormatError, match=r"notes\.zip: contains no known model \(it holds notes\.txt\)"):
            polyseme.load(tmp_path / "notes.zip")

    def test_a_damaged_line_is_named(self, glove: Path) -> None:
        glove.write_text(glove.read_text(encoding="utf-8") + "odd 1.5 2.5\n", encoding="utf-8")
        with pytest.raises(FormatError, match=r"glove\.txt:7: the line that begins with 'odd' ends in 2 numbers"):
            polyseme.load(glove)


class TestLayers:
    def test_one_layer_by_all_its_names(self, glove: Path) -> None:
        source = polyseme.load(glove)
        assert (source.layers, source.dim, source.precision, source.stateful) == (1, 8, "float32", False)
        for sentence, every in zip(SENTENCES, source.embed(SENTENCES, layers="all"), strict=True):
            assert every.shape == (1, len(sentence), 8)
            if sentence:
                np.testing.assert_allclose(every[0], rows(sentence), atol=1e-6)
        for choice in ("top", "mean", 0):
            for sentence, one in zip(SENTENCES, source.stream(SENTENCES, layers=choice), strict=True):
                assert one.shape == (len(sentence), 8)
                assert one.dtype == np.float32
        mix = ScalarMix(1)
        mix.gamma.data.fill_(2.0)
        np.testing.assert_allclose(source.embed(SENTENCES, layers=mix)[0], 2 * rows(SENTENCES[0]), atol=1e-6)
        with pytest.raises(InputError, match=r"unknown layer 1; expected one of 0, or 'all', 'mean', 'top'"):
            source.stream(SENTENCES, layers=1)
        with pytest.raises(InputError, match=r"the mix is of 3 layers but there are 1; make one with ScalarMix\(1\)"):
            source.embed(SENTENCES, layers=ScalarMix(3))

    def test_one_vector_per_sentence(self, glove: Path) -> None:
        source = polyseme.load(glove)
        pooled = source.embed_sentences(SENTENCES)
        np.testing.assert_allclose(pooled[0], rows(SENTENCES[0]).mean(axis=0), atol=1e-6)
        assert not pooled[1].any()
        largest = source.embed_sentences(SENTENCES[:1], pool="max")
        np.testing.assert_allclose(largest[0], rows(SENTENCES[0]).max(axis=0), atol=1e-6)
        with pytest.raises(InputError, match=r"one vector per sentence is made of one layer or mix; choose"):
            source.embed_sentences(SENTENCES, layers="all")

    def test_items_with_their_vectors(self, glove: Path) -> None:
        for source in (polyseme.load(glove), polyseme.Embedder(tiny_model(), batch_tokens=3)):
            read: list[int] = []

            def items(read: list[int] = read) -> Iterator[int]:
                for number in range(len(SENTENCES)):
                    read.append(number)
                    yield number

            found = source.stream_with(items(), lambda number: SENTENCES[number], layers="top")
            for number, vectors in found:
                np.testing.assert_array_equal(vectors, source.embed([SENTENCES[number]], layers="top")[0])
            assert read == [0, 1, 2, 3]

    def test_the_fingerprint_tells_what_vectors_depend_on(self, glove: Path, tmp_path: Path) -> None:
        table = WordVectors(WORDS, MATRIX)
        first = StaticVectors(table).fingerprint()
        assert StaticVectors(WordVectors(WORDS, MATRIX.copy())).fingerprint() == first
        StaticVectors(table).save(tmp_path / "folder")
        assert polyseme.load(tmp_path / "folder").fingerprint() == first
        others = [
            StaticVectors(table, unknown="mean"),
            StaticVectors(table, case_backoff=False),
            StaticVectors(WordVectors(WORDS[::-1], MATRIX)),
            StaticVectors(WordVectors(WORDS, np.nextafter(MATRIX, np.float32(9)))),
        ]
        assert len({first, *(other.fingerprint() for other in others)}) == 5


class TestUse:
    def test_an_index_of_static_vectors(self, glove: Path, tmp_path: Path) -> None:
        pytest.importorskip("faiss")
        index = OccurrenceIndex.build(polyseme.load(glove), SENTENCES, tmp_path / "index")
        found = OccurrenceIndex(tmp_path / "index").nearest(["a", "Bank"], 1, k=3)  # finds the file again
        assert [(one.word, one.position) for one in found[:2]] == [("bank", 1), ("bank", 1)]
        assert found[0].similarity == pytest.approx(1, abs=1e-3)
        unit = MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True)
        cosines = unit @ unit[2]
        present = [word for word in WORDS if word != "bank"]
        best = max(present, key=lambda word: cosines[WORDS.index(word)])
        third = index.nearest(["Bank"], 0, k=1, words="other")[0]
        assert third.word.lower() == best
        assert third.similarity == pytest.approx(cosines[WORDS.index(best)], abs=2e-3)
        with pytest.raises(InputError, match=r"was built with model .*, this one is .*; vectors of two models cannot"):
            OccurrenceIndex(tmp_path / "index", StaticVectors.load(glove, unknown="mean"))
        with pytest.raises(InputError, match=r"was built with model .*, this one is .*"):
            OccurrenceIndex(tmp_path / "index", polyseme.Embedder(tiny_model()))

    def test_senses_are_labelled_by_neighbours(self, glove: Path, tmp_path: Path) -> None:
        pytest.importorskip("faiss")
        pytest.importorskip("sklearn")
        index = OccurrenceIndex.build(polyseme.load(glove), SENTENCES * 8, tmp_path / "index")
        result = induce_senses(index, "bank")
        assert result.labels == "neighbours"

    def test_a_probe(self, glove: Path, tmp_path: Path) -> None:
        tags = {"the": "DET", "river": "NOUN", "bank": "NOUN", "of": "ADP", "money": "NOUN", "lent": "VERB"}
        lines = [f"{n}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for n, (word, tag) in enumerate(tags.items(), 1)]
        (tmp_path / "text.conllu").write_text(("".join(lines) + "\n") * 20, encoding="utf-8")
        result = probe(polyseme.load(glove), tmp_path / "text.conllu", tmp_path / "text.conllu")
        assert [one.layer for one in result.layers] == [0, "mean"]
        assert result.layers[0].accuracy == result.layers[1].accuracy == 1.0


class TestCommands:
    def test_embed_to_a_file(self, run: Command, glove: Path, tmp_path: Path) -> None:
        (tmp_path / "text.txt").write_text("The bank of the river\nThe bank lent money\n", encoding="utf-8")
        for layers, shape in (("all", (1, 5, 8)), ("top", (5, 8))):
            output = tmp_path / f"{layers}.npz"
            result = run("embed", tmp_path / "text.txt", "-m", glove, "-o", output, "--layers", layers, "--json")
            assert json.loads(result.out)["dim"] == 8
            with np.load(output) as stored:
                name = next(one for one in stored.files if stored[one].shape[-2:] == shape[-2:])
                np.testing.assert_allclose(stored[name].reshape(5, 8), rows(SENTENCES[0]), atol=1e-6)
        message = "so precision 'int8' has no meaning; leave it out"
        bad = ("-m", glove, "-o", tmp_path / "bad.npz")
        refused(run("embed", tmp_path / "text.txt", *bad, "--precision", "int8"), message)
        refused(run("embed", tmp_path / "text.txt", *bad, "--stateful"), "so stateful has no meaning")

    def test_index_nearest_and_similar(self, run: Command, glove: Path, tmp_path: Path) -> None:
        pytest.importorskip("faiss")
        (tmp_path / "text.txt").write_text("The bank of the river\nThe bank lent money\n", encoding="utf-8")
        assert run("index", tmp_path / "text.txt", "-m", glove, "-o", tmp_path / "index").code == 0
        lines = run("nearest", tmp_path / "index", "my [bank]", "-k", 2).out.splitlines()
        assert {line.split("  ")[1] for line in lines} == {"The [bank] of the river", "The [bank] lent money"}
        found = json.loads(run("similar", "bank", "-m", glove, "--json").out)["results"]
        nearest = StaticVectors.load(glove).nearest("bank")
        assert {one["source"] for one in found} == {"static"}
        assert [(one["word"], one["similarity"]) for one in found] == [
            (word, pytest.approx(near)) for word, near in nearest
        ]

    def test_info_and_convert(self, run: Command, glove: Path, tmp_path: Path) -> None:
        described = json.loads(run("info", glove, "--json").out)
        assert described == {
            "command": "info",
            "model": str(glove),
            "format": "GloVe text",
            "words": 6,
            "layers": 1,
            "dim": 8,
            "duplicates": 0,
            "repaired": 0,
            "fingerprint": polyseme.load(glove).fingerprint(),
        }
        assert run("convert", glove, tmp_path / "folder").code == 0
        opened = open_any(tmp_path / "folder")
        assert isinstance(opened, WordVectors)
        np.testing.assert_array_equal(opened.matrix, StaticVectors.load(glove).table.matrix)
        refused(run("convert", glove, tmp_path / "no", "--to", "hdf5"), "word vectors cannot be written as the HDF5")
        refused(run("convert", glove, tmp_path / "no", "--weights", "int8"), "word vectors have no --weights")

    def test_commands_that_need_a_model(self, run: Command, glove: Path, tmp_path: Path) -> None:
        (tmp_path / "text.txt").write_text("The bank\n", encoding="utf-8")
        message = "static word vectors (GloVe text), but a model that reads words in context is needed here"
        refused(run("score", glove, tmp_path / "text.txt"), message)
        refused(run("substitutes", glove, "the [bank]"), message)
        refused(run("evaluate", glove, tmp_path / "text.txt"), message)

    def test_a_model_is_no_table(self, tmp_path: Path) -> None:
        native.write(tiny_model(), tmp_path / "model")
        with pytest.raises(InputError, match=r"model: is a biLM and not word vectors; polyseme\.load reads it"):
            StaticVectors.load(tmp_path / "model")


def test_embedder_and_static_vectors_pool_alike() -> None:
    """One implementation: a source that gives the same token vectors gives the same sentence vectors."""
    embedder = polyseme.Embedder(tiny_model())
    words = sorted({token for sentence in SENTENCES for token in sentence})
    layer_zero = np.concatenate(embedder.embed([[word] for word in words], layers=0))
    static = StaticVectors(WordVectors(words, layer_zero), case_backoff=False)
    for pool in ("mean", "max"):
        one = embedder.embed_sentences(SENTENCES, layers=0, pool=pool)
        two = static.embed_sentences(SENTENCES, pool=pool)
        np.testing.assert_allclose(one, two, atol=1e-6)
    assert torch.is_grad_enabled()

"""Proteins: vectors under their identifiers, per residue and per protein; long sequences are told."""

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import Command, refused
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed import job
from polyseme.embed.choices import Pool
from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.writers import opening
from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.text.corpus import Corpus

PROTEINS = {"sp|P1|A": "MKVLA", "Q2/1-50": "MK", "Q2/60-70": "VV", "β3": "MKT"}


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    path = tmp_path / "proteins.fa"
    path.write_text(
        "".join(f">{name} of something\n{letters}\n" for name, letters in PROTEINS.items()), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


@pytest.mark.parametrize("part_bytes", [1, 1 << 20], ids=["many parts", "one part"])
@pytest.mark.parametrize("pool", [None, "mean"])
@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_arrays_under_identifiers(
    fasta: Path, embedder: Embedder, suffix: str, pool: Pool | None, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "open_writer", lambda *a, **k: opening.open_writer(*a, **k, part_bytes=part_bytes))
    output = fasta.with_suffix(suffix)
    embed_corpus(embedder, Corpus([fasta]), output, layers="mean", pool=pool)
    expected = {name: embedder.embed([list(letters)], layers="mean")[0] for name, letters in PROTEINS.items()}
    with h5py.File(output) if suffix == ".h5" else np.load(output) as found:
        for name, rows in expected.items():
            np.testing.assert_allclose(found[name][()], rows.mean(axis=0) if pool else rows, atol=1e-6)
        if suffix == ".h5":
            assert set(found) == {"sp|P1|A", "Q2", "β3"}
        else:
            assert set(found.files) == set(PROTEINS)


def test_a_table_has_them_in_a_column(fasta: Path, embedder: Embedder) -> None:
    embed_corpus(embedder, Corpus([fasta]), fasta.with_suffix(".parquet"), pool="mean")
    assert pq.read_table(fasta.with_suffix(".parquet"))["name"].to_pylist() == list(PROTEINS)


def test_by_number_as_before(fasta: Path, run: Command, tmp_path: Path) -> None:
    native.write(tiny_model(), tmp_path / "model")
    given = ("embed", fasta, "-m", tmp_path / "model")
    assert run(*given, "-o", tmp_path / "a.h5", "--keys", "number").code == 0
    with h5py.File(tmp_path / "a.h5") as found:
        assert found[json.loads(found["name_to_index"][0])["β3"]].shape == (3, 3, 12)
    done = run(*given, "-o", tmp_path / "b.npz", "--json")
    assert json.loads(done.out)["longest"] == 5
    assert "sp|P1|A" in np.load(tmp_path / "b.npz").files
    (tmp_path / "text.txt").write_text("a b\n")
    refused(
        run("embed", tmp_path / "text.txt", "-m", tmp_path / "model", "-o", tmp_path / "c.h5", "--keys", "name"),
        "text.txt:1: a sentence without a name cannot be stored under it; give --keys number, or correct the text",
    )


def test_a_text_of_several_sentences_has_one_name(embedder: Embedder, tmp_path: Path) -> None:
    text = tmp_path / "a.jsonl"
    text.write_text('{"id": "x1", "text": "He sat on the bank. It was wet."}\n')
    with pytest.raises(InputError) as error:
        embed_corpus(embedder, Corpus([text], tokenize="en"), tmp_path / "a.h5", keys="name")
    assert str(error.value) == (
        f"{text}:1: a text of several sentences gives several with the same name, here 'x1', and only one can be "
        "stored under it; give --keys number, or one sentence in a text"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nM\n>b\nM\n>a\nM\n", "p.fa:5: the name 'a' is taken by a sentence before; give --keys number"),
        (">a\nM\n>a/b\nM\n", "p.fa:3: the name 'a/b' is taken by a sentence before"),
        (">a/b\nM\n>a\nM\n", "p.fa:3: the name 'a' is taken by a sentence before"),
        (">\nM\n", "p.fa:1: a sentence without a name cannot be stored under it"),
        (">a/../b\nM\n", "p.fa:1: 'a/../b' cannot be a name in a file"),
    ],
)
def test_names_that_cannot_be_keys(text: str, message: str, embedder: Embedder, tmp_path: Path) -> None:
    (tmp_path / "p.fa").write_text(text)
    with pytest.raises(InputError) as error:
        embed_corpus(embedder, Corpus([tmp_path / "p.fa"]), tmp_path / "a.h5")
    assert message in str(error.value)
    assert not (tmp_path / "a.h5").exists()
    embed_corpus(embedder, Corpus([tmp_path / "p.fa"]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="unknown keys 'id'; expected one of auto, number, name"):
        embed_corpus(embedder, Corpus([tmp_path / "p.fa"]), tmp_path / "b.h5", keys="id")  # type: ignore[arg-type]


def test_long_sequences_are_told(fasta: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.embed.long_sentences.LONG", 2)
    told = Recorder()
    result = embed_corpus(embedder, Corpus([fasta]), fasta.with_suffix(".h5"), watcher=told)
    assert result.longest == 5
    assert told.notes == [
        f"{fasta}: 2 sentences are longer than 2 tokens, the longest (sp|P1|A) has 5; each was embedded whole"
    ]

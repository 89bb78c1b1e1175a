"""Starting from static vectors: what is set, what is taught, and that a run goes on from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chains import MINI, WORDS, Chain, write
from recorder import PowerCut, Recorder

import polyseme
from polyseme.errors import FormatError, InputError
from polyseme.formats.detect import open_model
from polyseme.models.static import WordVectors
from polyseme.models.token_encoders import WordTokenEncoder
from polyseme.nn.softmax import FullSoftmax
from polyseme.train.engine.distributed import World
from polyseme.train.lm.job import LmJob
from polyseme.train.lm.plan import LmPlan, TextSource
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import settings_of
from polyseme.train.lm.static_start import StaticStart

SENTENCES = Chain().sentences(200, seed=1)
VECTOR_WORDS = (*WORDS[:8], "unheard", "Rul")  # not "pas"; "rul" by its other case


def _table(dim: int) -> WordVectors:
    matrix = np.random.default_rng(dim).standard_normal((len(VECTOR_WORDS), dim)).astype(np.float32) + 0.5
    return WordVectors(VECTOR_WORDS, matrix, source="table")


def _file(folder: Path, dim: int) -> Path:
    lines = (
        f"{word} {' '.join(map(repr, row.tolist()))}\n"
        for word, row in zip(VECTOR_WORDS, _table(dim).matrix, strict=True)
    )
    path = folder / f"vectors-{dim}.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _plan(folder: Path, dim: int, **settings: Any) -> tuple[LmPlan, LmJob, Recorder]:
    text = write(folder / "text.txt", SENTENCES)
    source = TextSource(corpus=[str(text)], vectors=str(_file(folder, dim)))
    chosen = settings_of(**{**MINI, "teaching_updates": 0, **settings})
    plan = LmPlan(source, chosen, folder / "model")
    watcher = Recorder()
    plan.prepare(folder / "work", watcher)
    return plan, plan.open(folder / "work", chosen, World(), watcher), watcher


def _start(dim: int, width: int) -> StaticStart:
    return StaticStart(_table(dim), ["<S>", "</S>", *WORDS], width=width, seed=1)


@pytest.mark.parametrize("dim", [6, 24, 30])
def test_the_map_keeps_angles_and_more_numbers_than_fit_become_principal_components(dim: int) -> None:
    start = _start(dim, 24)
    known = start.rows[start.rows >= 0]
    matrix = _table(dim).matrix[known].astype(np.float64)
    centred = matrix - matrix.mean(axis=0)
    found = start.targets(known)
    assert found.shape == (len(known), 24)
    assert np.square(found).mean() == pytest.approx(1, rel=1e-4)
    products, expected = found @ found.T, centred @ centred.T
    # Nine centred vectors have eight dimensions, so that 24 principal components lose nothing.
    np.testing.assert_allclose(products / np.trace(products), expected / np.trace(expected), atol=1e-5)
    if dim == 24:
        np.testing.assert_allclose(found / found[0, 0], centred / centred[0, 0], rtol=1e-3)


def test_words_are_found_in_any_case_and_markers_are_not() -> None:
    start = StaticStart(
        WordVectors(["</s>", "Rul", "ba"], np.eye(3, dtype=np.float32)), ["<S>", "</S>", "rul", "no"], width=4, seed=1
    )
    assert start.rows.tolist() == [-1, -1, 1, -1]


def test_the_rows_of_the_softmax_are_the_mapped_vectors_and_the_others_random(tmp_path: Path) -> None:
    _, job, _ = _plan(tmp_path, 6)
    softmax, vocabulary = job.model.bilm.softmax, job.model.vocabulary
    assert isinstance(softmax, FullSoftmax)
    assert vocabulary is not None
    start = StaticStart(_table(6), ["<S>", "</S>", *WORDS], width=24, seed=1)
    for word in (*WORDS[:8], "rul"):
        row = _table(6).find(word)
        expected = start.targets(np.array([row]))[0] / np.sqrt(24)
        np.testing.assert_allclose(softmax.weight[vocabulary.lookup([word])[0]].detach().numpy(), expected, atol=1e-5)
    fresh = LmPlan(TextSource(corpus=[str(tmp_path / "text.txt")]), settings_of(**MINI), tmp_path / "other")
    fresh.prepare(tmp_path / "plain", Recorder())
    other = fresh.open(tmp_path / "plain", settings_of(**MINI), World(), Recorder()).model.bilm.softmax
    assert isinstance(other, FullSoftmax)
    for word in ("<S>", "</S>", "<UNK>", "pas"):
        number = vocabulary.lookup([word])[0]
        assert torch.equal(softmax.weight[number], other.weight[number])


def test_a_taught_encoder_gives_words_their_vectors(tmp_path: Path) -> None:
    _, before, _ = _plan(tmp_path, 6)
    _, job, watcher = _plan(tmp_path, 6, teaching_updates=150)
    rows = [_table(6).find(word) for word in WORDS[:8]]
    wanted = torch.from_numpy(_start(6, 24).targets(np.array(rows)))

    def unexplained(one: LmJob) -> float:
        with torch.no_grad():
            found = one.model.bilm.token_encoder(torch.from_numpy(one.model.indexer.ids(WORDS[:8])))
        return float((found - wanted).square().sum() / wanted.square().sum())

    assert unexplained(before) > 0.9
    assert unexplained(job) < 0.02
    shares = watcher.shares("teaching the token encoder")
    assert len(shares) == 150
    assert "teaching the token encoder" not in _plan(tmp_path, 6)[2].stages


def test_teaching_ends_with_its_part_of_a_time_budget(tmp_path: Path) -> None:
    _, _, watcher = _plan(tmp_path, 6, teaching_updates=10**9, time_budget=1.0)
    shares = watcher.shares("teaching the token encoder")
    assert 0 < len(shares) < 10**5


@pytest.mark.parametrize("dim", [6, 24])
@pytest.mark.parametrize("kind", ["frozen", "tuned"])
def test_a_model_that_reads_words_has_the_vectors_as_its_table(kind: str, dim: int, tmp_path: Path) -> None:
    text = write(tmp_path / "text.txt", SENTENCES)
    output = tmp_path / "model"
    train([text], output, vectors=_file(tmp_path, dim), **{**MINI, "word_input": kind, "updates": 20})
    assert f"It began with the static vectors `vectors-{dim}.txt`." in (output / "README.md").read_text()
    model = open_model(output)
    encoder = model.bilm.token_encoder
    assert isinstance(encoder, WordTokenEncoder)
    words = list(VECTOR_WORDS[:8])
    read = encoder(torch.from_numpy(model.indexer.ids(words)))
    static = torch.from_numpy(_table(dim).matrix[:8])
    same = torch.allclose(read @ read.T, static @ static.T, atol=1e-4)
    assert same == (kind == "frozen")
    if kind == "frozen" and dim == 24:
        assert torch.equal(read, static)
    ids = model.indexer.ids(["rul", "unheard", "pas", "never", "<UNK>"])[:, 0].tolist()
    assert ids[0] != ids[-1]  # by its other case
    assert (ids[1] != ids[-1]) == (kind == "frozen")  # a word that only the vectors have
    assert ids[2] == ids[3] == ids[-1]
    assert len(polyseme.load(output).embed([["ba", "never"]])[0]) == 2
    further = train([text], tmp_path / "further", start=output, updates=2, precision="float32")
    assert further.finished


def test_noise_finds_the_rows_of_words_in_other_letters(tmp_path: Path) -> None:
    _, job, _ = _plan(tmp_path, 6, word_input="frozen", case_noise=0.5)
    encoder = job.model.bilm.token_encoder
    read = encoder(torch.from_numpy(job.model.indexer.ids(["ba", "BA", "Ba"])))
    assert torch.equal(read[0], read[1])
    assert torch.equal(read[0], read[2])
    assert not any(parameter.requires_grad for parameter in encoder.parameters())


@pytest.mark.parametrize(
    "settings",
    [{"teaching_updates": 5, "softmax": "sampled"}, {"word_input": "tuned"}, {"word_input": "frozen"}],
    ids=["taught", "tuned", "frozen"],
)
def test_a_run_goes_on_to_the_same_model_without_the_vectors(settings: dict[str, Any], tmp_path: Path) -> None:
    text, vectors = write(tmp_path / "text.txt", SENTENCES), _file(tmp_path, 6)
    every = {**MINI, **settings, "updates": 9, "checkpoint_every": 1e-6, "vectors": vectors, "average": 0.2}
    train([text], tmp_path / "whole", **every)
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "cut", watcher=PowerCut(5), **every)
    vectors.unlink()
    train([], tmp_path / "cut", resume=True)
    assert (tmp_path / "cut/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


def test_what_does_not_go_together_is_refused_with_one_line(tmp_path: Path) -> None:
    text, vectors = write(tmp_path / "text.txt", SENTENCES), _file(tmp_path, 30)
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"word_input": "tuned"},
            r"^word_input 'tuned' reads static vectors; give them with --vectors",
        ),
        (
            {"vectors": vectors, "word_input": "frozen"},
            r"vectors-30.txt: vectors of 30 numbers do not fit into projection_dim 24; use --projection-dim 30$",
        ),
    ]
    other = tmp_path / "other.txt"
    other.write_text("水 1.0 2.0 0.5\n火 0.5 1.0 2.0\n", encoding="utf-8")
    cases.append(({"vectors": other}, r"other.txt: has no vector for any word of the text; give vectors of the text's"))
    for given, message in cases:
        with pytest.raises(InputError, match=message):
            train([text], tmp_path / "model", **{**MINI, **given})
    with pytest.raises(InputError, match=r"static vectors are for a model that begins with random weights; leave out"):
        train([text], tmp_path / "model", start="english-small", vectors=vectors)
    assert not (tmp_path / "model.training").exists()


@pytest.mark.parametrize("content", [b"", b"nothing"])
def test_a_damaged_beginning_gets_one_line(content: bytes, tmp_path: Path) -> None:
    text, vectors = write(tmp_path / "text.txt", SENTENCES), _file(tmp_path, 6)
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "cut", watcher=PowerCut(2), vectors=vectors, **{**MINI, "teaching_updates": 1})
    path = tmp_path / "cut.training/text/beginning.safetensors"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"beginning.safetensors: not as it was written .* and begin again$"):
        train([], tmp_path / "cut", resume=True)

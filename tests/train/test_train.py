"""Training as a whole, on text whose true probabilities are known."""

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from chains import MINI, Chain, write
from conftest import Command
from recorder import Recorder

import polyseme
from polyseme.embed.load import load_embedder
from polyseme.formats.detect import open_model
from polyseme.text.corpus import Corpus
from polyseme.train.engine.loop import Trainer
from polyseme.train.lm.evaluate import Perplexity, evaluate, evaluate_heldout
from polyseme.train.lm.run import Outcome, train

CHAIN = Chain()
HELDOUT = CHAIN.sentences(300, seed=2)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("texts")
    return write(folder / "training.txt", CHAIN.sentences(2000, seed=1)), write(folder / "heldout.txt", HELDOUT)


def _train(texts: tuple[Path, Path], output: Path, **settings: Any) -> Outcome:
    return train([texts[0]], output, heldout=[texts[1]], **{**MINI, **settings})


def _measure(output: Path) -> Perplexity:
    return evaluate(open_model(output), HELDOUT)


@pytest.mark.parametrize(
    "settings",
    [
        {"softmax": "adaptive", "precision": "bfloat16"},
        {"encoder": "gru", "precision": "bfloat16"},
        {"encoder": "gated-cnn", "precision": "bfloat16"},
        {"layout": "rows", "dropout": 0.1},
        {"optimizer": "adagrad", "learning_rate": 0.5, "accumulate": 2},
        {"optimizer": "muon", "average": 0.1},
        {"characters": "unicode", "decay": "linear"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_every_way_of_training_gets_well_below_the_unigram_level(
    settings: dict[str, Any], texts: tuple[Path, Path], tmp_path: Path
) -> None:
    outcome = _train(texts, tmp_path / "model", epochs=3, **settings)
    assert outcome.finished
    measured = _measure(tmp_path / "model")
    level = CHAIN.unigram_perplexity(HELDOUT)
    assert measured.forward < 0.75 * level
    assert measured.backward < 0.75 * level
    assert outcome.score == pytest.approx(measured.average, rel=1e-4)
    assert len(polyseme.load(tmp_path / "model").embed([["ba", "never", "seen"]])[0]) == 2


def test_full_and_sampled_softmax_learn_the_chain_and_agree(texts: tuple[Path, Path], tmp_path: Path) -> None:
    best = CHAIN.perplexity(HELDOUT)
    long = (write(tmp_path / "long.txt", CHAIN.sentences(5000, seed=3)), texts[1])
    found = {}
    for softmax in ("full", "sampled"):
        _train(long, tmp_path / softmax, softmax=softmax, learning_rate=0.01, epochs=6, patience=6)
        found[softmax] = _measure(tmp_path / softmax)
        assert found[softmax].forward == pytest.approx(best, rel=0.04)
        assert found[softmax].backward == pytest.approx(best, rel=0.04)
    assert found["full"].average == pytest.approx(found["sampled"].average, rel=0.03)


def test_what_a_run_leaves(texts: tuple[Path, Path], tmp_path: Path) -> None:
    output = tmp_path / "model"
    train([texts[0]], output, **MINI, epochs=2)
    assert not (tmp_path / "model.training").exists()
    assert {"config.json", "model.safetensors", "vocabulary.txt", "metrics.jsonl", "README.md"} <= {
        path.name for path in output.iterdir()
    }
    records = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    training = [record for record in records if record["kind"] == "training"]
    heldout = [record for record in records if record["kind"] == "heldout"]
    assert {record["objective"] for record in training} == {"full"}
    assert {record["softmax"] for record in heldout} == {"full"}
    assert [record["epoch"] for record in heldout] == [1.0, 2.0]
    assert training[-1]["loss"] < training[0]["loss"]
    assert heldout[0]["forward"] != heldout[0]["backward"]
    assert "Held-out perplexity (full softmax over 13 words" in (output / "README.md").read_text()
    scores = load_embedder(output).score([["ba", "ce"]])[0]
    assert np.isfinite(scores).all()


def test_training_stops_when_it_no_longer_improves_and_keeps_the_best(texts: tuple[Path, Path], tmp_path: Path) -> None:
    noise = write(tmp_path / "noise.txt", Chain(seed=9).sentences(60, seed=5))
    outcome = train([noise], tmp_path / "model", heldout=[texts[1]], **{**MINI, "decay": "none"}, epochs=60, patience=2)
    records = [json.loads(line) for line in (tmp_path / "model" / "metrics.jsonl").read_text().splitlines()]
    averages = [record["average"] for record in records if record["kind"] == "heldout"]
    assert len(averages) < 60
    assert min(averages) == averages[-3] == outcome.score
    assert _measure(tmp_path / "model").average == pytest.approx(min(averages), rel=1e-4)


def test_a_held_out_figure_is_taken_once(texts: tuple[Path, Path], tmp_path: Path) -> None:
    """The end of an epoch may be a tenth of the run as well."""
    _train(texts, tmp_path / "model", epochs=2, time_budget="1h")
    records = [json.loads(line) for line in (tmp_path / "model" / "metrics.jsonl").read_text().splitlines()]
    updates = [record["update"] for record in records if record["kind"] == "heldout"]
    assert len(updates) >= 2
    assert len(set(updates)) == len(updates)


def test_a_time_budget_ends_the_run(texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.train.engine.loop.RECORD_EVERY", 1)  # however few updates a slow machine gets to
    watcher = Recorder()
    outcome = _train(texts, tmp_path / "model", epochs=10_000, time_budget="1.5s", patience=1000, watcher=watcher)
    assert outcome.finished
    assert re.search(
        rf"^the time budget of 2s ended training after update {outcome.updates:,}, \d+\.\d\d of 10,000 epochs$",
        watcher.notes[-1],
    )
    records = [json.loads(line) for line in (tmp_path / "model" / "metrics.jsonl").read_text().splitlines()]
    rates = [record["rate"] for record in records if record["kind"] == "training"]
    assert rates[-1] < MINI["learning_rate"]


def test_chinese_by_words_and_by_characters(tmp_path: Path) -> None:
    text = "话说天下大势，分久必合，合久必分。周末七国分争，并入于秦。" * 8 + "及秦灭之后，楚、汉分争，又并入于汉。" * 8
    (tmp_path / "novel.txt").write_text(text, encoding="utf-8")
    (tmp_path / "stop.txt").write_text("，\n", encoding="utf-8")
    choices: list[tuple[Literal["zh", "char"], str]] = [("zh", "bytes"), ("char", "unicode")]
    for tokenize, characters in choices:
        output = tmp_path / tokenize
        train(
            [tmp_path / "novel.txt"],
            output,
            tokenize=tokenize,
            stop_words=tmp_path / "stop.txt",
            **MINI,
            epochs=1,
            characters=characters,
        )
        model = open_model(output)
        assert model.vocabulary is not None
        assert "，" not in model.vocabulary
        assert ("天下" in model.vocabulary) == (tokenize == "zh")
        corpus = Corpus([tmp_path / "novel.txt"], tokenize=tokenize)
        assert np.isfinite(evaluate(model, [sentence.tokens for sentence in corpus]).average)


def test_one_path_stands_for_a_list_of_one(
    texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**MINI, "updates": 2}
    train([texts[0]], tmp_path / "list", heldout=[texts[1]], **settings)
    train(texts[0], tmp_path / "path", heldout=str(texts[1]), **settings)
    monkeypatch.chdir(texts[0].parent)
    polyseme.train("training.txt", tmp_path / "name", heldout=Path("heldout.txt"), **settings)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("list", "path", "name")]
    assert weights[0] == weights[1] == weights[2]
    figures = [_measure(tmp_path / name).average for name in ("list", "path", "name")]
    assert figures[0] == figures[1] == figures[2]


def test_an_evaluation_that_does_not_fit_into_a_time_budget_measures_less(
    texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []

    def slow_clock(trainer: Trainer[Any], since: float) -> float:
        return 2.0 * trainer.progress.update  # seconds: each update takes two

    def recorded(*arguments: Any, tokens: int, **others: Any) -> Perplexity:
        measured.append(tokens)
        return evaluate_heldout(*arguments, tokens=tokens, **others)

    monkeypatch.setattr(Trainer, "_clock", slow_clock)
    monkeypatch.setattr("polyseme.train.lm.job.evaluate_heldout", recorded)
    watcher = Recorder()
    _train(texts, tmp_path / "model", epochs=10_000, time_budget="60s", patience=1000, watcher=watcher)
    held = sum(len(sentence) + 2 for sentence in HELDOUT)
    trial, *measured = measured
    # About 250 tokens an update of two seconds, and six seconds are a tenth of the budget.
    assert 0 < trial < held / 2
    assert 0 < measured[0] < held / 2
    assert len(set(measured)) == 1
    assert sum("of the held-out text is measured, to keep the time budget" in note for note in watcher.notes) == 1


def test_an_interrupted_count_says_what_is_left(
    texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Command
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("polyseme.train.lm.encode_text._encode", interrupted)
    done = run("train", texts[0], "-o", tmp_path / "model", "--tokenize", "none")
    assert done.code == 130
    told = "interrupted before anything was learnt, and nothing is left of it; begin again"
    assert done.err.splitlines()[-1] == f"polyseme: {tmp_path / 'model'}: {told}"
    assert list(tmp_path.iterdir()) == []

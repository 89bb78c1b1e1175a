"""``polyseme task`` as a person uses it."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, refused
from tasks.made import entities, tagged
from tiny import tiny_model

from polyseme.formats import native
from polyseme.tasks.examples import Tagged
from polyseme.tasks.job import TaskJob

SMALL = [
    "--hidden-dim",
    "16",
    "--learning-rate",
    "0.01",
    "--min-count",
    "1",
    "--word-dim",
    "12",
    "--batch-size",
    "8",
    "--warmup",
    "0",
    "--epochs",
    "4",
]


def _write(path: Path, examples: Sequence[Tagged]) -> Path:
    blocks = (
        "\n".join(f"{token} {tag}" for token, tag in zip(one.tokens, one.tags or (), strict=True)) for one in examples
    )
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    _write(tmp_path / "train.conll", tagged(120))
    _write(tmp_path / "dev.conll", tagged(30, seed=1))
    _write(tmp_path / "test.conll", tagged(40, seed=2))
    return tmp_path


def _train(run: Command, data: Path, *more: object) -> None:
    options = ["--train", data / "train.conll", "--dev", data / "dev.conll", "-o", data / "model", "--vectors", "none"]
    done = run("task", "train", "tag", *options, *SMALL, *more)
    assert done.code == 0, done.err
    assert ": held-out accuracy: score " in done.err


def test_from_data_to_answers(run: Command, data: Path) -> None:
    _train(run, data, "--test", data / "test.conll")
    found = run("task", "evaluate", data / "model", data / "test.conll", "--json", "--plot", data / "confusion.png")
    assert found.code == 0
    record = json.loads(found.out)
    assert record.keys() >= {"task", "metric", "score", "n", "labels", "errors", "unknown_labels"}
    assert (record["task"], record["metric"]) == ("tag", "accuracy")
    assert record["score"] > 95
    assert record["labels"]["NUM"].keys() == {"precision", "recall", "f1", "n"}
    assert (data / "confusion.png").read_bytes().startswith(b"\x89PNG")
    raw = run("task", "predict", data / "model", "The bank. 12 play")
    assert [json.loads(line)["tokens"] for line in raw.out.splitlines()] == [["The", "bank", "."], ["12", "play"]]
    copied = data / "answers.conll"
    assert run("task", "predict", data / "model", data / "test.conll", "--write", "same", "-o", copied).code == 0
    tokens = [line.split()[:1] for line in copied.read_text(encoding="utf-8").splitlines()]
    assert tokens == [line.split()[:1] for line in (data / "test.conll").read_text(encoding="utf-8").splitlines()]


def test_several_seeds_have_a_mean_and_a_spread(run: Command, data: Path) -> None:
    options = ["--train", data / "train.conll", "--dev", data / "dev.conll", "-o", data / "model", "--vectors", "none"]
    done = run("task", "train", "tag", *options, *SMALL, "--seeds", 2, "--test", data / "test.conll", "--json")
    record = json.loads(done.out)
    assert [one["seed"] for one in record["results"]] == [1, 2]
    tests = [one["test"] for one in record["results"]]
    assert record["test_mean"] == pytest.approx(sum(tests) / 2)
    assert record["test_spread"] == pytest.approx(abs(tests[0] - tests[1]) / 2**0.5)
    assert all((data / f"model-{seed}" / "config.json").exists() for seed in (1, 2))
    again = run("task", "train", "tag", *options, *SMALL, "--seeds", 2, "--resume")  # finished ones are kept
    assert "trained before" in again.out


def test_a_label_that_was_not_learnt_is_named_and_wrong(run: Command, data: Path) -> None:
    _train(run, data)
    _write(data / "odd.conll", [Tagged(("bank", "7"), ("MONEY", "NUM"))])
    found = run("task", "evaluate", data / "model", data / "odd.conll")
    assert found.code == 0
    assert "counted as wrong, since the model does not have them: 1 label (MONEY)" in found.err
    assert "right: bank/MONEY" in found.out


def test_mistakes_are_refused_in_one_line(run: Command, data: Path) -> None:
    options = ["--train", data / "train.conll", "-o", data / "model"]
    refused(run("task", "train", "tag", "-o", data / "model"), "no training data given; name a file with --train")
    refused(
        run("task", "train", "tag", *options, "--vectors", "none", "--vectors", "x"), "--vectors none stands for no"
    )
    refused(run("task", "train", "tag", *options, "--columns", "text"), "'text' is not a list of columns")
    refused(run("task", "train", "tag", *options, "--dropout", "2"), "setting dropout:")
    refused(run("task", "train", "tag", *options, "--resume"), "no interrupted run is there")
    refused(run("task", "evaluate", data, data / "dev.conll"), "no config.json is there")
    _write(data / "ner.conll", entities(20))
    (data / "bad.conll").write_text("Rome LOC\n", encoding="utf-8")
    refused(
        run("task", "train", "ner", "--train", data / "bad.conll", "-o", data / "x"), "the tag 'LOC' is not one of BIO"
    )
    refused(run("task", "train", "ner", "--train", data / "none.conll", "-o", data / "x"), "cannot be opened")
    _train(run, data)
    refused(run("task", "train", "tag", *options), "exists already; give the name of a new folder")
    refused(run("task", "predict", data / "model", "Rome", "--write", "same"), "--write same needs a file to copy")
    for path in ("nofile.txt", "letters/may", "LETTERS.CONLL"):
        refused(
            run("task", "predict", data / "model", path),
            f"{path}: no such file is there; correct the path. If it is the text itself, give - in its place and the",
        )
    assert run("task", "predict", data / "model", "He/she.").code == 0


def test_a_file_of_raw_text_is_answered(run: Command, data: Path) -> None:
    _train(run, data)
    letters = data / "letters.txt"
    letters.write_text("The bank can play. It was wet.\n", encoding="utf-8")
    done = run("task", "predict", data / "model", letters, "-o", data / "letters.jsonl")
    assert done.code == 0, done.err
    assert f"{letters}: read as raw text (--tokenize en); --format names another" in done.err
    lines = (data / "letters.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["tokens"][-1] for line in lines] == [".", "."]
    assert all(len(json.loads(line)["tags"]) > 3 for line in lines)
    assert "read as raw text" not in run("task", "predict", data / "model", letters, "--format", "text").err
    refused(
        run("task", "predict", data / "model", letters, "--write", "same", "-o", data / "x"),
        "the format text has no place for predictions; choose jsonl",
    )


def test_models_are_compared_and_trained_once(run: Command, data: Path) -> None:
    native.write(tiny_model(), data / "bilm")
    options = ["--train", data / "train.conll", "--dev", data / "dev.conll", "-o", data / "models"]
    options += ["--vectors", data / "bilm", "--table", "places", "--table", "curve", "--epochs", 1]
    done = run("task", "compare", "tag", *options, "--plot", data / "curve.png", "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["results"]
    assert [row["model"] for row in rows[:4]] == ["baseline", "at the input", "at the output", "at both"]
    assert [row["examples"] for row in rows[4:]] == [1, 1, 4, 4, 12, 12, 36, 36, 120, 120]
    assert rows[0]["score"] == rows[-2]["score"]  # the same model
    assert rows[0]["error_reduction"] == 0
    assert rows[1]["error_reduction"] == pytest.approx(
        100 * (rows[1]["score"] - rows[0]["score"]) / (100 - rows[0]["score"])
    )
    assert (data / "curve.png").read_bytes().startswith(b"\x89PNG")
    again = run("task", "compare", "tag", *options)
    assert "update" not in again.err  # nothing was trained


def test_an_interrupted_run_needs_only_its_name(run: Command, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = TaskJob.loss
    calls = iter(range(9))

    def interrupted(job: Any, batch: Any) -> Any:
        if next(calls, None) is None:
            signal.raise_signal(signal.SIGINT)
        return loss(job, batch)

    monkeypatch.setattr(TaskJob, "loss", interrupted)
    options = ["--train", data / "train.conll", "--dev", data / "dev.conll", "-o", data / "model", "--vectors", "none"]
    stopped = run("task", "train", "tag", *options, *SMALL)
    assert stopped.code == 128 + signal.SIGINT
    assert "model: stopped after update 10; continue with --resume" in stopped.err
    monkeypatch.setattr(TaskJob, "loss", loss)
    other = run("task", "train", "tag", "-o", data / "model", "--resume", "--hidden-dim", 5)
    refused(other, "this run was begun with hidden_dim 16, not 5")
    (data / "dev.conll").rename(data / "away.conll")
    refused(run("task", "train", "tag", "-o", data / "model", "--resume"), "cannot be opened")
    (data / "away.conll").rename(data / "dev.conll")
    done = run("task", "train", "tag", "-o", data / "model", "--resume")
    assert done.code == 0, done.err
    assert "continuing after update 10" in done.err
    assert not (data / "model.training").exists()

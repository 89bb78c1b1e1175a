"""Raw text without --tokenize gives the same as with the right one, in every command."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import typer
from conftest import Command
from tiny import tiny_model

from polyseme.cli.main import app
from polyseme.formats import native
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.serve.parts import open_parts
from polyseme.serve.settings import Settings
from polyseme.text.choices import Tokenizer

ENGLISH = (
    "It's a river, and the bank of it is steep. The bank lent us money, didn't it? We walked along the bank.",
    "He robbed a bank in the town. The river's bank was green, wasn't it? No bank is open, they said.",
)
CHINESE = (
    "他在银行买了一本书。天黑了，我们走吧。银行在河边。她去银行取钱，他不去。",
    "我们的银行很大。昨天下雨了，银行没有开门。他说：“银行关了。”",
)
MINI = (
    *("--preset", "tiny", "--filters", "1:8,2:16", "--character-dim", "4", "--hidden-dim", "16", "--layers", "1"),
    *("--projection-dim", "8", "--batch-tokens", "256", "--min-count", "1", "--epochs", "1", "--precision", "float32"),
)


def results(
    run: Command, folder: Path, model: Path, word: str, query: str, options: tuple[str, ...]
) -> dict[str, object]:
    """What each command gives."""
    folder.mkdir()
    old, new, index = folder.parent / "old.txt", folder.parent / "new.txt", folder / "index"

    def told(*command: object) -> object:
        done = run(*command, "--json")
        assert done.code == 0, done.err
        lines = [json.loads(line) for line in done.out.splitlines()]
        return [{name: one[name] for name in one if name not in ("seconds", "output", "index")} for one in lines]

    assert run("embed", old, "-m", model, "-o", folder / "v.parquet", "--layers", "mean", *options).code == 0
    table = pyarrow.parquet.read_table(folder / "v.parquet")
    found: dict[str, object] = {
        "tokens": table["token"].to_pylist(),
        "vectors": np.asarray(table["vector"].to_pylist()).tolist(),
        "index": told("index", old, "-m", model, "-o", index, *options),
        "nearest": told("nearest", index, query, "-k", 3),
        "similar": told("similar", word, "--index", index, "--least", 1),
        "senses": told("senses", "induce", word, "--index", index),
        "substitutes": told("substitutes", model, query, *options),
        "score": told("score", model, old, *options),
        "evaluate": told("evaluate", model, old, *options),
        "change": told("change", word, old, new, "-m", model, *options),
        "compare": told("compare", word, query, query, "-m", model, *options),
        "words": told("words", old, "--least", 2, *options),
        "explored": _explored(run, folder, model, old, options),
        "served": _served(model, old, options),
        "task": _task(run, folder, model, (old, new), options),
    }
    assert run("train", old, "-o", folder / "trained", *MINI, *options).code == 0
    found["trained"] = (folder / "trained/vocabulary.txt").read_text(encoding="utf-8")
    found["recorded"] = json.loads((folder / "trained/config.json").read_text())["tokenize"]
    return found


def _task(run: Command, folder: Path, model: Path, texts: tuple[Path, Path], options: tuple[str, ...]) -> str:
    """What a classifier predicts that learns from a table of raw text."""
    table, lines = folder / "table.csv", [text.read_text(encoding="utf-8").splitlines()[0] for text in texts]
    rows = "".join(f'"{line}",{label}\n' for label, line in zip("ab", lines, strict=True))
    table.write_text("text,label\n" + rows * 4, encoding="utf-8")
    made = run(
        *("task", "train", "classify", "--train", table, "--dev", table, "-o", folder / "task", "--vectors", model),
        *("--epochs", 1, "--hidden-dim", 4, *options),
    )
    assert made.code == 0, made.err
    measured = run("task", "evaluate", folder / "task", table, *options)
    assert measured.code == 0, measured.err
    return run("task", "predict", folder / "task", lines[0], *options).out + measured.out


def _explored(run: Command, folder: Path, model: Path, text: Path, options: tuple[str, ...]) -> dict[str, int]:
    """How often each word is behind a map."""
    done = run(
        *("explore", text, "-m", model, "-o", folder / "explored", "--html", folder / "map.html", "--points", 40),
        *options,
    )
    assert done.code == 0, done.err
    return dict(OccurrenceIndex(folder / "explored").counts)


def _served(model: Path, text: Path, options: tuple[str, ...]) -> list[list[str]]:
    """The tokens that a server takes from raw text."""
    asked = {"tokenize": options[1]} if options else {}
    settings = Settings.model_validate({"model": str(model), **asked})
    return [list(one) for one in open_parts(settings).segmentation.sentences(text.read_text(encoding="utf-8"))]


def test_no_command_is_forgotten() -> None:
    """Every command that takes --tokenize is one of those below, or reads its text by the same function."""

    def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        for part, inner in getattr(command, "commands", {}).items():
            yield from commands(inner, f"{name} {part}".strip())
        if not hasattr(command, "commands"):
            yield name, command

    found = {
        name
        for name, command in commands(typer.main.get_command(app), "")
        if any(option.endswith("tokenize") for one in command.get_params(typer.Context(command)) for option in one.opts)
    }
    tried = {"embed", "train", "evaluate", "score", "substitutes", "index", "compare", "change", "words", "serve"}
    tried |= {"explore", "task train", "task evaluate", "task predict"}
    # `task compare` trains by what `task train` does; `cove train` has a tokeniser for each side.
    assert found == tried | {"task compare", "cove train"}


@pytest.mark.parametrize(
    ("tokenizer", "texts", "word", "query", "first"),
    [
        ("en", ENGLISH, "bank", "It's the [bank], isn't it?", ["It", "'s", "a", "river", ","]),
        ("zh", CHINESE, "银行", "他在[银行]工作。", ["他", "在", "银行", "买", "了"]),
    ],
)
def test_every_command(
    run: Command, tmp_path: Path, tokenizer: Tokenizer, texts: tuple[str, str], word: str, query: str, first: list[str]
) -> None:
    made = tiny_model()
    native.write(replace(made, config=made.bilm_config.model_copy(update={"tokenize": tokenizer})), tmp_path / "model")
    for name, text in zip(("old", "new"), texts, strict=True):
        (tmp_path / f"{name}.txt").write_text((text + "\n") * 12, encoding="utf-8")
    plain = results(run, tmp_path / "plain", tmp_path / "model", word, query, ())
    asked = results(run, tmp_path / "asked", tmp_path / "model", word, query, ("--tokenize", tokenizer))
    assert plain.keys() == asked.keys()
    for name in plain:
        assert plain[name] == asked[name], name
    assert plain["tokens"][: len(first)] == first  # type: ignore[index]
    assert plain["recorded"] == tokenizer

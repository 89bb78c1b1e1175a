"""Work folders of interrupted training runs (run.json, checkpoints, stored text), and folders of task models."""

import random
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from polyseme.progress import Figure, Watcher
from polyseme.tasks.examples import Tagged, Text
from polyseme.tasks.task import Task
from polyseme.train.engine.records import METRICS
from polyseme.train.lm.run import train
from polyseme.train.translate.run import train_translator
from reliability import good_models
from reliability.damage.folder import damage_folder
from reliability.target import Target
from reliability.targets.outputs import Stop

LM: dict[str, Any] = {
    "preset": "tiny",
    "filters": ((1, 4), (2, 4)),
    "character_dim": 4,
    "layers": 1,
    "hidden_dim": 8,
    "projection_dim": 4,
    "batch_tokens": 64,
    "precision": "float32",
    "min_count": 1,
    "cutoffs": (3, 5),
    "threads": 1,
    "updates": 4,
    "tokenize": "none",
    "checkpoint_every": 1e-6,
}
TRANSLATOR: dict[str, Any] = {
    "encoder_dim": 4,
    "encoder_layers": 1,
    "decoder_dim": 4,
    "batch_tokens": 64,
    "min_count": 1,
    "precision": "float32",
    "heldout_pairs": 4,
    "max_length": 20,
    "threads": 1,
    "updates": 4,
    "checkpoint_every": 1e-6,
}
TASK: dict[str, Any] = {
    "batch_size": 8,
    "hidden_dim": 6,
    "min_count": 1,
    "word_dim": 4,
    "character_filters": 4,
    "threads": 1,
    "updates": 4,
    "checkpoint_every": 1e-6,
}
TAGGED = [Tagged(("the", "river", "bank"), ("DET", "NOUN", "NOUN")), Tagged(("money",), ("NOUN",))] * 8
TEXTS = [Text(("a", "fine", "play"), "good"), Text(("a", "poor", "play"), "bad")] * 8


class _Stopping(Watcher):
    """Stops a run after its second update, as if the process had died."""

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        if figures.get("update", 0) == 2:
            raise Stop


def _train(folder: Path, *, resume: bool = True, watcher: Watcher | None = None) -> None:
    if resume:
        train((), folder / "model", resume=True, watcher=watcher or Watcher())
    else:
        train(folder / "text.txt", folder / "model", watcher=watcher, **LM)


def _translate(folder: Path, *, resume: bool = True, watcher: Watcher | None = None) -> None:
    if resume:
        train_translator((), folder / "model", resume=True, watcher=watcher or Watcher())
    else:
        pairs, vectors = folder / "pairs.tsv", folder / "vectors.txt"
        train_translator(pairs, folder / "model", vectors=vectors, watcher=watcher, **TRANSLATOR)


def _task(folder: Path, *, resume: bool = True, watcher: Watcher | None = None) -> None:
    vectors = (folder / "bilm", folder / "vectors.txt")
    Task.train("tag", TAGGED, folder / "model", dev=TAGGED[:2], vectors=vectors, resume=resume, watcher=watcher, **TASK)


def _prepare(folder: Path) -> None:
    good_models.write_text(folder / "text.txt", 40)
    good_models.write_text_vectors(folder)
    (folder / "bilm").mkdir()
    good_models.write_bilm(folder / "bilm")
    lines = (folder / "text.txt").read_text().splitlines()
    rows = (f"{line}\t{' '.join(reversed(line.split()))}\n" for line in sorted(set(lines)))
    (folder / "pairs.tsv").write_text("".join(rows))


def _interrupted(folder: Path, run: Any) -> None:
    _prepare(folder)
    try:
        run(folder, resume=False, watcher=_Stopping())
    except Stop:
        return
    raise AssertionError("the run was not stopped")


def _damage_work(folder: Path, draw: random.Random) -> None:
    damage_folder(folder / "model.training", draw)


def _make_task(folder: Path, name: Any, examples: list[Any]) -> None:
    _prepare(folder)
    vectors = (folder / "bilm",)
    Task.train(
        name, examples, folder / "model", dev=examples[:2], vectors=vectors, watcher=Watcher(), **{**TASK, "updates": 1}
    )


def _use_task(folder: Path) -> None:
    task = Task.load(folder / "model")
    task.predict("The river bank was steep. A fine play!")
    task.learned_mixes()


def _damage_task(folder: Path, draw: random.Random) -> None:
    damage_folder(folder / "model", draw)


def _save_nothing(figure: object, path: Path, **options: object) -> None:
    path.touch()


def _continue(folder: Path, run: Callable[[Path], None]) -> None:
    """Continue a run; its picture, which takes most of the time, is drawn only if what it shows was damaged."""
    metrics, good = (place / "model.training" / METRICS for place in (folder, folder.with_name("good")))
    same = metrics.is_file() and good.is_file() and metrics.read_bytes() == good.read_bytes()
    with mock.patch("matplotlib.figure.Figure.savefig", _save_nothing) if same else nullcontext():
        run(folder)


def _target(name: str, run: Callable[..., None]) -> Target:
    return Target(name, partial(_interrupted, run=run), partial(_continue, run=run), _damage_work)


TARGETS = (
    _target("interrupted train", _train),
    _target("interrupted cove train", _translate),
    _target("interrupted task train", _task),
    Target("task folder, tag", partial(_make_task, name="tag", examples=TAGGED), _use_task, _damage_task),
    Target("task folder, classify", partial(_make_task, name="classify", examples=TEXTS), _use_task, _damage_task),
)

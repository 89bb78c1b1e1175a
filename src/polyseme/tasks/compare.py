"""Trains the models of a comparison and measures them, each once, resumable."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.files.work_folder import RUN, work_path
from polyseme.progress import Watcher
from polyseme.tasks.choices import CompareTable
from polyseme.tasks.comparison import Variant, variants
from polyseme.tasks.examples import Example
from polyseme.tasks.plan import TaskData
from polyseme.tasks.run import TaskRun
from polyseme.tasks.settings import settings_of
from polyseme.tasks.task import Task
from polyseme.tasks.training import Asked, mean_and_spread, measured_examples, prepared
from polyseme.train.engine.run import SUFFIX


@dataclass(frozen=True)
class Compared:
    """The score of one row of a table, over all seeds.

    Attributes:
        variant: The row.
        examples: How many it learnt from.
        scores: Of the test data, or of the held-out data if there is none; one for each seed.
    """

    variant: Variant
    examples: int
    scores: tuple[float, ...]

    def to_dict(self, baseline: float | None) -> dict[str, JSON]:
        """As plain values, with the share of the baseline's error that is gone."""
        mean, spread = mean_and_spread(self.scores)
        known = baseline is not None and baseline < 100
        return {
            "table": self.variant.table,
            "model": self.variant.name,
            "examples": self.examples,
            "score": mean,
            "spread": spread,
            "seeds": len(self.scores),
            "error_reduction": (mean - baseline) / (100 - baseline) * 100 if baseline is not None and known else None,
        }


def compare(
    asked: Asked,
    output: Path,
    *,
    tables: Sequence[CompareTable],
    seeds: int,
    test: Path | None,
    watcher: Watcher,
) -> list[Compared]:
    """Train and measure all models of some tables.

    Args:
        asked: Task, files, vectors and settings that all have in common.
        output: A folder for the models; those that are there already are not trained again.
        tables: Which tables.
        seeds: How many models of each kind.
        test: What they are measured on; by default the held-out data.
        watcher: Is told how it goes.

    Raises:
        InputError: The run was interrupted; the same call continues it.
    """
    settings = settings_of(asked.task, asked.settings)
    run = prepared(asked, settings, watcher)
    rows = variants(tables, run.sources)
    measured = run.data.heldout if test is None else measured_examples(asked, test, watcher)
    output.mkdir(exist_ok=True)
    scores: dict[str, tuple[int, tuple[float, ...]]] = {}
    for row in rows:
        if row.key not in scores:
            watcher.note(f"{row.table}: {row.name}")
            part = _part(run, row, settings.seed)
            numbers = range(settings.seed, settings.seed + seeds)
            found = tuple(
                _trained(part, row, asked, output, seed, watcher).evaluate(measured).score for seed in numbers
            )
            scores[row.key] = len(part.data.training), found
    shutil.rmtree(output / "vectors", ignore_errors=True)
    return [Compared(row, *scores[row.key]) for row in rows]


def _part(run: TaskRun[Example], row: Variant, seed: int) -> TaskRun[Example]:
    """The data and sources of one row; smaller shares are parts of larger ones."""
    data = run.data
    training = list(data.training)
    if row.share < 1:
        order = np.random.default_rng([seed, 4]).permutation(len(training))
        kept = sorted(order[: max(1, round(row.share * len(training)))].tolist())
        training = [training[number] for number in kept]
    everything = [*data.training, *data.heldout]
    return replace(
        run,
        data=TaskData(training, data.heldout, data.names, everything),
        sources=[run.sources[number] for number in row.sources],
    )


def _trained(run: TaskRun[Example], row: Variant, asked: Asked, output: Path, seed: int, watcher: Watcher) -> Task:
    """The model of a row and a seed, trained unless it is there."""
    place = output / f"{row.key}-seed-{seed}"
    unfinished = (work_path(place, SUFFIX) / RUN).exists()
    if unfinished or not place.exists():
        settings = settings_of(asked.task, {**asked.settings, **row.settings, "seed": seed})
        outcome = run.train(place, settings, resume=unfinished, features=output / "vectors", watcher=watcher)
        if not outcome.finished:
            raise InputError(f"{output}: interrupted; the same command continues where it stopped")
    return Task.load(place)

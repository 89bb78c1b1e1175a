"""Training from files: one model or several seeds, begun or resumed."""

import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyseme.embed.source import VectorSource
from polyseme.errors import FormatError, InputError
from polyseme.files.json_file import check_record
from polyseme.files.whole import JSON
from polyseme.files.work_folder import RUN, work_path
from polyseme.models.model import ModelPath
from polyseme.progress import Watcher
from polyseme.tasks.choices import TaskName
from polyseme.tasks.data_files import DataFiles, ReadingChoices, read_all
from polyseme.tasks.examples import Example
from polyseme.tasks.kinds import kind_of
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.plan import TaskPlan
from polyseme.tasks.run import TaskRun, check_place, choose_sources, split_data
from polyseme.tasks.settings import TaskSettings, settings_of
from polyseme.tasks.sources import SourceRecord
from polyseme.tasks.task import Task
from polyseme.train.engine.run import SUFFIX, Outcome, stored_settings
from polyseme.train.engine.settings import check_settings

_IN_RUN = ("task", "data", "vectors")
"""What ``run.json`` holds besides files and settings."""


@dataclass(frozen=True)
class Asked:
    """What a user asks for; everything but the task can be left to an interrupted run.

    Attributes:
        task: Which task.
        files: What to learn from; None to take it from an interrupted run.
        vectors: The vector sources; None for the bundled model, or those of an interrupted run.
        settings: Those that are given.
    """

    task: TaskName
    files: DataFiles | None
    vectors: Sequence[ModelPath | VectorSource] | None
    settings: Mapping[str, object]


@dataclass(frozen=True)
class Trained:
    """A model of one seed.

    Attributes:
        seed: Its seed.
        output: Its folder.
        outcome: How its run ended; None if it had been trained before.
        score: The score of the test file, if there is one.
    """

    seed: int
    output: Path
    outcome: Outcome | None
    score: Score | None = None

    @property
    def finished(self) -> bool:
        """Whether its run came to its end."""
        return self.outcome is None or self.outcome.finished

    def to_dict(self) -> dict[str, JSON]:
        """As plain values."""
        record: dict[str, JSON] = {"seed": self.seed, "output": str(self.output)}
        if self.outcome is not None:
            record |= {"finished": self.outcome.finished, "updates": self.outcome.updates, "dev": self.outcome.score}
        return record if self.score is None else record | {"test": self.score.score}


def train_models(
    asked: Asked,
    output: Path,
    *,
    seeds: int,
    resume: bool,
    test: Path | None,
    watcher: Watcher,
    begun: float | None = None,
) -> list[Trained]:
    """Train a model, or one for each of several seeds.

    Args:
        asked: What is asked for.
        output: The folder of the model; several are written into ``OUTPUT-1``, ``OUTPUT-2`` and so on.
        seeds: How many seeds, from that of the settings on. Their contextual vectors are computed once.
        resume: Continue an interrupted run. Of several seeds, finished models are kept.
        test: A file to measure finished models on.
        watcher: Is told how it goes.
        begun: When the time budget of a single model began, by `time.monotonic`; of several, each has its own.

    Returns:
        What was trained; the last one may have been interrupted.
    """
    if seeds == 1:
        check_place(output, resume=resume)
    if test is not None:  # a mistake in it is found before hours of training
        measured_examples(asked, test, watcher)
    if seeds == 1:
        asked, settings = _resumed(asked, output) if resume else (asked, settings_of(asked.task, asked.settings))
        ready = prepared(asked, settings, watcher)
        outcome = ready.train(output, settings, resume=resume, watcher=watcher, begun=begun)
        found = [Trained(settings.seed, output, outcome)]
    else:
        found = _train_seeds(asked, output, seeds=seeds, resume=resume, watcher=watcher)
    if test is None or not all(one.finished for one in found):
        return found
    examples = measured_examples(asked, test, Watcher())
    return [replace(one, score=Task.load(one.output).evaluate(examples)) for one in found]


def _train_seeds(asked: Asked, output: Path, *, seeds: int, resume: bool, watcher: Watcher) -> list[Trained]:
    settings = settings_of(asked.task, asked.settings)
    run = prepared(asked, settings, watcher)
    shared = work_path(output, ".vectors")
    found: list[Trained] = []
    for seed in range(settings.seed, settings.seed + seeds):
        place = output.with_name(f"{output.name}-{seed}")
        unfinished = (work_path(place, SUFFIX) / RUN).exists()
        outcome = None
        if not (resume and place.exists() and not unfinished):
            watcher.note(f"seed {seed}: {place}")
            chosen = settings.model_copy(update={"seed": seed})
            outcome = run.train(place, chosen, resume=resume and unfinished, features=shared, watcher=watcher)
        found.append(Trained(seed, place, outcome))
        if not found[-1].finished:
            return found
    shutil.rmtree(shared, ignore_errors=True)
    return found


def measured_examples(asked: Asked, test: Path, watcher: Watcher) -> list[Example]:
    """The examples of a test file, read as the others are."""
    reading = ReadingChoices() if asked.files is None else asked.files.reading
    return read_all(reading.whole().open(test, asked.task), watcher)


def mean_and_spread(scores: Sequence[float]) -> tuple[float, float]:
    """The mean of scores, and their standard deviation from it (0 for a single one).

    Example:
        >>> mean_and_spread([90.0, 92.0, 94.0])
        (92.0, 2.0)
    """
    return statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else 0.0


def prepared(asked: Asked, settings: TaskSettings, watcher: Watcher) -> TaskRun[Example]:
    """What a run needs: the files read and the vectors opened."""
    if asked.files is None:
        raise InputError("no training data given; name a file with --train")
    kind = kind_of(asked.task)
    training, heldout = asked.files.read(asked.task, watcher)
    names: dict[str, JSON] = asked.files.model_dump(mode="json")
    data = split_data(training, heldout, names, settings.seed)
    if heldout is None:
        watcher.note(f"{len(data.heldout):,} of {len(training):,} {kind.unit} are held out; --dev gives others")
    return TaskRun(kind, data, choose_sources(asked.vectors, kind, data, watcher))


def _resumed(asked: Asked, output: Path) -> tuple[Asked, TaskSettings]:
    """What an interrupted run was asked for, if nothing that is asked for now differs from it."""
    folder = work_path(output, SUFFIX)
    now: dict[str, JSON] = {"task": asked.task}
    if asked.files is not None:
        now |= asked.files.model_dump(mode="json", exclude_defaults=True)
    given = {name for name, value in asked.settings.items() if value is not None}
    now |= {k: v for k, v in settings_of(asked.task, asked.settings).model_dump(mode="json").items() if k in given}
    stored = stored_settings(output, TaskPlan.kind, now)
    advice = f"delete {folder} and begin again"
    sources = stored.pop("vectors", [])
    own = {name: stored.pop(name) for name in DataFiles.model_fields if name in stored}
    for name in _IN_RUN:
        stored.pop(name, None)
    if "train" not in own:
        raise InputError(f"{folder}: this run learnt from examples in memory; continue it from Python, with the same")
    files = check_record(own, DataFiles, where=str(folder), advice=advice)
    if not isinstance(sources, list):
        raise FormatError(f"{folder}: vectors is no list of models; {advice}")
    vectors = [check_record(one, SourceRecord, where=str(folder), advice=advice).path for one in sources]
    try:
        settings = check_settings(TaskSettings, stored)
    except InputError as error:
        raise FormatError(f"{folder}: {error}; {advice}") from error
    return Asked(asked.task, files, asked.vectors or vectors, asked.settings), settings

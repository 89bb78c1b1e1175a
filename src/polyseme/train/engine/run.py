"""One run of a job: data, processes, work folder, loop, and what is left at the end."""

import os
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from polyseme.errors import FormatError, InputError, Interrupted, OutputError
from polyseme.files.interrupt import interruptible
from polyseme.files.json_file import check_record
from polyseme.files.whole import JSON, check_new
from polyseme.files.work_folder import RUN, WorkFolder, read_run, work_path
from polyseme.progress import Watcher
from polyseme.train.engine import checkpoint
from polyseme.train.engine.distributed import World, world
from polyseme.train.engine.job import Plan, Settings
from polyseme.train.engine.loop import Trainer
from polyseme.train.engine.memory import freed_memory_kept
from polyseme.train.engine.precision import with_precision, without_kernel
from polyseme.train.engine.records import BOARD
from polyseme.train.engine.settings import MAY_DIFFER, check_settings
from polyseme.train.engine.threads import run_threads

SUFFIX = ".training"

Data = TypeVar("Data", bound=BaseModel)


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    output: Path
    finished: bool
    """False when it was interrupted and can be resumed."""
    updates: int
    score: float | None
    """The best evaluation."""
    score_name: str
    signal: int | None = None
    """The number of the signal that interrupted it."""

    def to_dict(self) -> dict[str, JSON]:
        """As plain values."""
        name = self.score_name.replace(" ", "_").replace("-", "")
        return {"output": str(self.output), "finished": self.finished, "updates": self.updates, name: self.score}


def check_output(output: Path, kind: str, *, resume: bool) -> None:
    """Refuse an output that cannot be begun or resumed, before anything is read.

    Raises:
        InputError: With what to do.
    """
    if os.environ.get("RANK", "0") != "0":  # the first process speaks for all
        return
    if not output.name:  # "." or "/": there is no name for a work folder next to it
        raise InputError(f"{output}: exists already; give the name of a new folder, or with --resume that of the run")
    folder = work_path(output, SUFFIX)
    if resume:
        if not (folder / RUN).exists():
            raise InputError(
                f"{folder}: no interrupted run is there, so there is nothing to resume; leave out --resume and give a "
                "new output folder, or train a finished model further with --from"
            )
        read_run(folder, kind)
        return
    if output.exists():
        further = "--resume to continue training it" if (folder / RUN).exists() else "train it further with --from"
        raise InputError(f"{output}: exists already; give the name of a new folder, or {further}")
    check_new(output)


def stored_settings(output: Path, kind: str, asked: Mapping[str, JSON]) -> dict[str, JSON]:
    """The settings of an interrupted run, unless different ones are given.

    Args:
        output: The run's.
        kind: What runs.
        asked: What was given for the resumed run; what was left open is not in it.

    Raises:
        InputError: Something differs.
    """
    folder = work_path(output, SUFFIX)
    stored = dict(read_run(folder, kind).settings)
    for name, value in asked.items():
        if name in MAY_DIFFER:
            stored[name] = value
        elif value != stored.get(name):
            raise InputError(
                f"{folder}: this run was begun with {name} {stored.get(name)!r}, not {value!r}; resume it with the "
                "same (or leave it out), or begin another run"
            )
    return stored


def stored_plan(
    output: Path, kind: str, asked: Mapping[str, JSON], data: type[Data], settings: type[Settings]
) -> tuple[Data, Settings]:
    """What an interrupted run reads and its settings, unless different ones are given.

    Args:
        output: The run's.
        kind: What runs.
        asked: What was given for the resumed run; what was left open is not in it.
        data: The record of what the run reads.
        settings: The kind of its settings.
    """
    stored = stored_settings(output, kind, asked)
    folder = work_path(output, SUFFIX)
    own = {name: stored.pop(name) for name in data.model_fields if name in stored}
    source = check_record(own, data, where=str(folder), advice=f"delete {folder} and begin again")
    try:
        return source, check_settings(settings, stored)
    except InputError as error:
        raise FormatError(f"{folder}: {error}; delete this folder and begin again") from error


def spelled(paths: str | Path | Sequence[str | Path]) -> list[str]:
    """One path or several, as a list of strings."""
    return [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def run(plan: Plan[Settings], output: Path, *, resume: bool, watcher: Watcher, begun: float | None = None) -> Outcome:
    """Prepare the data of a job unless an interrupted run did, and train it.

    Args:
        plan: How the job comes about.
        output: The folder that the job publishes to.
        resume: Continue an interrupted run.
        watcher: Is told how it goes.
        begun: When a time budget began, by `time.monotonic`; now by default.
    """
    begun = time.monotonic() if begun is None else begun
    with world(plan.settings.device) as everyone:
        settings = with_precision(plan.settings, everyone)
        watcher = watcher if everyone.first else Watcher()
        if not everyone.first:
            return _train(plan, settings, work_path(output, SUFFIX), everyone, watcher, resume=resume, begun=begun)
        identity = {**plan.identity, **settings.model_dump(mode="json")}
        if_exists = None if resume else "give the name of a new folder"
        with WorkFolder(
            output,
            kind=plan.kind,
            settings=identity,
            resume=resume,
            if_exists=if_exists,
            suffix=SUFFIX,
            may_differ=MAY_DIFFER,
        ) as work:
            try:
                outcome = _train(plan, settings, work.path, everyone, watcher, resume=resume, begun=begun)
            except BaseException as error:
                _leave(work, plan, error)
                raise
            if outcome.finished:
                if (work.path / BOARD).exists():
                    shutil.move(work.path / BOARD, output / BOARD)
                work.remove()
            return outcome


def _leave(work: WorkFolder, plan: Plan[Settings], error: BaseException) -> None:
    """After an error, keep what a resumed run can use: a checkpoint, or data that another run need not read again."""
    usable = plan.is_prepared(work.path) and (work.resumed or isinstance(error, OutputError))
    if usable or (work.path / checkpoint.FILE).exists():
        return
    work.remove()
    if isinstance(error, KeyboardInterrupt):
        what = f"{work.output}: interrupted before anything was learnt, and nothing is left of it; begin again"
        raise Interrupted(what, number=signal.SIGINT) from None


def _train(
    plan: Plan[Settings],
    settings: Settings,
    folder: Path,
    everyone: World,
    watcher: Watcher,
    *,
    resume: bool,
    begun: float,
) -> Outcome:
    if everyone.first and not plan.is_prepared(folder):
        plan.prepare(folder, watcher)
    everyone.wait()
    job = plan.open(folder, settings, everyone, watcher)
    if note := without_kernel(settings, everyone):
        watcher.note(note)
    stopping = "stopping after this update; once more to stop at once"
    with (
        freed_memory_kept(),
        run_threads(settings, job, everyone) as threads,
        interruptible(lambda: watcher.note(stopping)) as interrupted,
    ):
        trainer = Trainer(
            job,
            settings,
            world=everyone,
            folder=folder,
            watcher=watcher,
            begun=begun,
            interrupted=interrupted,
            threads=threads,
        )
        finished = trainer.run(resume=resume)
    if everyone.first:
        if finished:
            job.conclude()
        trainer.describe()
    p = trainer.progress
    return Outcome(job.output, finished, p.update, p.best, job.score_name, interrupted.signal)

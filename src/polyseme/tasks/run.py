"""One call from examples to the folder of a task model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import numpy as np

from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.files.work_folder import RUN, work_path
from polyseme.models.model import ModelPath
from polyseme.progress import Watcher
from polyseme.progress.figures import counted
from polyseme.tasks.kind import Kind
from polyseme.tasks.language import bundled_for
from polyseme.tasks.model import Ex
from polyseme.tasks.plan import TaskData, TaskPlan
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.sources import TaskSource, open_sources
from polyseme.train.engine.run import SUFFIX, Outcome, check_output, run

_HELD_OUT = 0.1
"""The share of the training examples that is held out if there are no others."""


@dataclass(frozen=True)
class TaskRun(Generic[Ex]):
    """What a run needs, apart from its settings.

    Attributes:
        kind: The task.
        data: The examples.
        sources: The vector sources.
    """

    kind: Kind[Ex]
    data: TaskData[Ex]
    sources: Sequence[TaskSource]

    def train(
        self,
        output: Path,
        settings: TaskSettings,
        *,
        resume: bool = False,
        features: Path | None = None,
        watcher: Watcher,
        begun: float | None = None,
    ) -> Outcome:
        """Train one model.

        Args:
            output: The folder of the model.
            settings: The run's.
            resume: Continue an interrupted run of the same configuration.
            features: A folder for contextual vectors that several runs share.
            watcher: Is told how it goes.
            begun: When a time budget began, by `time.monotonic`; now by default.
        """
        check_place(output, resume=resume)
        plan = TaskPlan(self.kind, self.data, self.sources, settings, output, features=features)
        return run(plan, output, resume=resume, watcher=watcher, begun=begun)


def check_place(output: Path, *, resume: bool) -> None:
    """Refuse an output that cannot be begun or resumed, before anything is read.

    Raises:
        InputError: With what to do.
    """
    unfinished = (work_path(output, SUFFIX) / RUN).exists()
    if resume and not unfinished:
        raise InputError(f"{output}: no interrupted run is there, so there is nothing to resume; leave out --resume")
    if output.exists() and not resume:
        further = ", or continue it with --resume" if unfinished else ""
        raise InputError(f"{output}: exists already; give the name of a new folder{further}")
    check_output(output, TaskPlan.kind, resume=resume)


def choose_sources(
    vectors: Sequence[ModelPath | VectorSource] | None, kind: Kind[Ex], data: TaskData[Ex], watcher: Watcher
) -> list[TaskSource]:
    """Open the vectors that are asked for; by default the bundled model for the language of the data.

    Args:
        vectors: What `polyseme.load` takes, or opened sources; empty for none, None for the default.
        kind: The task.
        data: The examples.
        watcher: Is told which model was chosen.
    """
    if vectors is not None:
        return open_sources(vectors)
    name = bundled_for(sentence for example in data.training for sentence in kind.sentences(example))
    watcher.note(f"vectors: the bundled model {name}, by the language of the text; --vectors chooses others, or none")
    return open_sources([name])


def split_data(
    training: Sequence[Ex], heldout: Sequence[Ex] | None, names: Mapping[str, JSON], seed: int
) -> TaskData[Ex]:
    """The data of a run; a tenth of the training examples is held out if there are no others."""
    if heldout is not None:
        return TaskData(training, heldout, dict(names))
    if len(training) < 2:
        raise InputError(
            f"{counted(len(training), 'example')} cannot be divided into training and held-out data; give --dev"
        )
    order = np.random.default_rng([seed, 3]).permutation(len(training)).tolist()
    count = max(1, int(_HELD_OUT * len(training)))
    kept = sorted(order[count:])
    return TaskData([training[i] for i in kept], [training[i] for i in sorted(order[:count])], dict(names))

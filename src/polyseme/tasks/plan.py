"""From examples and vector sources to the job that trains on them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic

from polyseme.errors import InputError
from polyseme.files.checksum import digest
from polyseme.files.whole import JSON, write_json
from polyseme.progress import Figure, Watcher
from polyseme.progress.figures import counted
from polyseme.tasks.batches import BatchMaker
from polyseme.tasks.blueprint import Blueprint
from polyseme.tasks.examples import Tokens
from polyseme.tasks.features import Features, open_features
from polyseme.tasks.job import TaskJob
from polyseme.tasks.kind import Kind
from polyseme.tasks.language import segmentation_for
from polyseme.tasks.lexicon import Lexicon
from polyseme.tasks.model import Ex
from polyseme.tasks.sentences import SentenceStore
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.sources import TaskSource
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Plan

PREPARED = "prepared.json"
FEATURES = "vectors"


@dataclass(frozen=True)
class TaskData(Generic[Ex]):
    """The examples of a run.

    Attributes:
        training: To learn from.
        heldout: They decide which model is the best.
        names: What they are called, for messages and records, such as the names of files.
        shared: Examples of which these are a part; runs with the same share the vectors that are kept of them.
    """

    training: Sequence[Ex]
    heldout: Sequence[Ex]
    names: dict[str, JSON]
    shared: Sequence[Ex] = ()

    def digest(self) -> str:
        """A checksum of the examples."""
        both = (self.training, self.heldout)
        return digest(repr(one).encode("utf-8", "surrogatepass") for part in both for one in part)


class TaskPlan(Plan[TaskSettings], Generic[Ex]):
    """How a task model comes to be trained.

    Args:
        task: The task.
        data: What it learns from.
        sources: Its vector sources.
        settings: The run's.
        output: The folder of the model.
        features: A folder for contextual vectors that several runs share; by default in the work folder of the run.
    """

    kind = "task"

    def __init__(
        self,
        task: Kind[Ex],
        data: TaskData[Ex],
        sources: Sequence[TaskSource],
        settings: TaskSettings,
        output: Path,
        *,
        features: Path | None = None,
    ) -> None:
        self.task, self.data, self.settings, self.output = task, data, settings, output
        self.sources = sources
        self.identity: dict[str, JSON] = {
            "task": task.name,
            **data.names,
            "data": data.digest(),
            "vectors": [one.record().model_dump(mode="json") for one in sources],
        }
        self._features = features

    def is_prepared(self, folder: Path) -> bool:
        """See `Plan`."""
        return (folder / PREPARED).exists()

    def prepare(self, folder: Path, watcher: Watcher) -> None:
        """Compute the contextual vectors of all sentences, as far as they fit the budget."""
        training, heldout = self._examples()
        learnt, _ = self.task.to_learn(training, self.settings)
        self._open_features(self._store(learnt, heldout), folder, watcher)
        write_json(folder / PREPARED, {"examples": [len(self.data.training), len(self.data.heldout)]})

    def open(self, folder: Path, settings: TaskSettings, world: World, watcher: Watcher) -> TaskJob[Ex]:
        """See `Plan`."""
        training, heldout = self._examples()
        learnt, changed = self.task.to_learn(training, settings)
        blueprint = self._blueprint(learnt, settings)
        store = self._store(learnt, heldout)
        features = self._open_features(store, folder, Watcher())
        maker = BatchMaker(self.task, store, blueprint.lexicon, blueprint.sources, features, device=world.device)
        self._tell(blueprint, training, heldout, changed, watcher)
        return TaskJob(blueprint, learnt, heldout, maker, world=world, output=self.output)

    def _examples(self) -> tuple[list[Ex], Sequence[Ex]]:
        """What is learnt from, and what is held out; empty sentences have nothing to learn."""
        kind, names = self.task, self.data.names
        for name, examples in (("training", self.data.training), ("held-out", self.data.heldout)):
            missing = sum(not kind.is_labelled(example) for example in examples)
            if missing or not examples:
                what = f"{missing:,} of {len(examples):,} {kind.unit} have no label" if missing else "holds nothing"
                raise InputError(f"{names.get('train', name)}: the {name} data {what}; give labelled {kind.unit}")
        training = [example for example in self.data.training if all(kind.sentences(example) or ((),))]
        if not training:
            raise InputError(f"{names.get('train')}: none of its {kind.unit} has tokens; give some with text")
        return training, self.data.heldout

    def _blueprint(self, training: Sequence[Ex], settings: TaskSettings) -> Blueprint[Ex]:
        sentences = list(_sentences(self.task, training))
        sources = list(self.sources)
        if settings.train_static:
            words = {token for sentence in sentences for token in sentence}
            sources = [one.with_trained(words) for one in sources]
        if settings.fine_tune:
            sources = [replace(one, tuned=not one.is_static) for one in sources]
            if not any(one.tuned for one in sources):
                raise InputError("there are no contextual vectors to fine-tune; give some, or leave out --fine-tune")
        return Blueprint(
            kind=self.task,
            settings=settings,
            tables=self.task.tables(training),
            lexicon=Lexicon.of(sentences, min_count=settings.min_count),
            sources=sources,
            segmentation=segmentation_for([one.source for one in sources], sentences),
        )

    def _store(self, training: Sequence[Ex], heldout: Sequence[Ex]) -> SentenceStore:
        return SentenceStore(_sentences(self.task, [*self.data.shared, *training, *heldout]))

    def _open_features(self, store: SentenceStore, folder: Path, watcher: Watcher) -> list[Features]:
        place = self._features or folder / FEATURES
        left = self.settings.cache_mib << 20
        found = []
        for one in self.sources:
            if not one.is_static and not self.settings.fine_tune:
                features, used = open_features(
                    one.source, store, place, layers=self.settings.layers, budget=left, watcher=watcher
                )
                found.append(features)
                left -= used
        return found

    def _tell(
        self,
        blueprint: Blueprint[Ex],
        training: Sequence[Ex],
        heldout: Sequence[Ex],
        changed: dict[str, Figure],
        watcher: Watcher,
    ) -> None:
        unit = self.task.unit
        figures: dict[str, Figure] = {f"training {unit}": len(training), f"held-out {unit}": len(heldout)}
        if dropped := len(self.data.training) - len(training):
            figures["left out without tokens"] = dropped
        if "labels" in blueprint.tables:
            figures["labels"] = len(blueprint.tables["labels"])
        watcher.result("data", figures | changed)
        unknown = {label for example in heldout for label in self.task.unknown_labels(example, blueprint.tables)}
        if unknown:
            some = ", ".join(sorted(unknown)[:5])
            watcher.note(
                f"counted as wrong, since the training data does not have them: {counted(len(unknown), 'label')} of "
                f"the held-out data ({some})"
            )


def _sentences(kind: Kind[Ex], examples: Iterable[Ex]) -> Iterator[Tokens]:
    return (sentence for example in examples for sentence in kind.sentences(example))

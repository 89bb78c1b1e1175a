"""A trained task model: text in, answers out."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.models.combined_layers import LearnedMix
from polyseme.models.model import ModelPath
from polyseme.progress import Watcher, watching
from polyseme.tasks import folder
from polyseme.tasks.blueprint import Blueprint
from polyseme.tasks.choices import TaskName
from polyseme.tasks.data_files import ReadingChoices, read_all
from polyseme.tasks.examples import Example
from polyseme.tasks.kinds import kind_of
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import TaskModel
from polyseme.tasks.run import TaskRun, choose_sources, split_data
from polyseme.tasks.settings import settings_of
from polyseme.text.segmentation import Segmentation

Given = str | Path | Iterable[Sequence[str]] | Iterable[Example]
"""A raw text, a file of examples, sentences of tokens, pairs of raw texts, or examples."""


class Task:
    """A model for one task.

    Args:
        blueprint: What the model is built from.
        model: With its weights.

    Attributes:
        name: The task: tag, ner, classify, ...
    """

    def __init__(self, blueprint: Blueprint[Example], model: TaskModel[Example]) -> None:
        self.blueprint, self.model = blueprint, model
        self.name: TaskName = blueprint.kind.name
        self._predictor = blueprint.predictor(model)

    @classmethod
    def train(
        cls,
        task: TaskName,
        train: str | Path | Sequence[Example],
        output: str | Path,
        *,
        dev: str | Path | Sequence[Example] | None = None,
        vectors: Sequence[ModelPath | VectorSource] | None = None,
        reading: ReadingChoices | None = None,
        resume: bool = False,
        watcher: Watcher | None = None,
        **settings: object,
    ) -> "Task":
        """Train a model and keep the one that is best on held-out examples.

        Args:
            task: Which task.
            train: A file of examples to learn from, or examples of the task's type.
            output: The folder to write. Checkpoints are kept next to it in ``OUTPUT.training`` until the run is done.
            dev: Held-out examples, or a file of them; by default a tenth of the others.
            vectors: Vector sources, as `polyseme.load` takes them; empty for none, by default the bundled model for
                the language of the text.
            reading: How files are read.
            resume: Continue where an interrupted run of the same configuration stopped.
            watcher: Is told how it goes; by default a bar in a notebook, elsewhere nothing.
            settings: Those of `polyseme.tasks.settings.TaskSettings`.

        Raises:
            InputError: Something is not as it should be, or the run was interrupted.
        """
        kind, chosen, how = kind_of(task), settings_of(task, settings), reading or ReadingChoices()
        with watching(watcher) as told:
            training = _examples(task, train, how, told)
            heldout = None if dev is None else _examples(task, dev, how.whole(), told)
            data = split_data(training, heldout, {}, chosen.seed)
            sources = choose_sources(vectors, kind, data, told)
            outcome = TaskRun(kind, data, sources).train(Path(output), chosen, resume=resume, watcher=told)
        if not outcome.finished:
            raise InputError(f"{output}: training was interrupted after update {outcome.updates:,}; use resume=True")
        return cls.load(output)

    @classmethod
    def load(cls, path: str | Path, *, vectors: Sequence[ModelPath] | None = None) -> "Task":
        """Load a model that was trained before; its training data is not needed.

        Args:
            path: Its folder.
            vectors: Where its vector sources are now, in their order, if they are no longer where they were.
        """
        return cls(*folder.read(Path(path), vectors=vectors))

    def __repr__(self) -> str:
        sources = ", ".join(one.source.name for one in self.blueprint.sources) or "no vectors"
        return f"Task({self.name}, {sources})"

    def predict(self, given: Given, *, reading: ReadingChoices | None = None) -> list[Example]:
        """Answer examples.

        Args:
            given: A raw text (a string), which is tokenised as the training data was; a file of examples (a `Path`);
                lists of tokens, or for entail and answer pairs of raw texts: (premise, hypothesis), (question,
                passage); or examples.
            reading: How a file is read.

        Returns:
            An example for each sentence or example given, with the answer of the model.
        """
        return list(self.stream(given, reading=reading))

    def stream(self, given: Given, *, reading: ReadingChoices | None = None) -> Iterator[Example]:
        """As `predict`, one answer at a time and in bounded memory."""
        return self._predictor.predict(self.examples(given, reading=reading))

    def evaluate(self, given: str | Path | Sequence[Example], *, reading: ReadingChoices | None = None) -> Score:
        """How good the answers of the model are, for a file of examples or examples whose answers are known."""
        examples = _examples(self.name, given, reading or ReadingChoices(), Watcher(), self.blueprint.segmentation)
        return self.blueprint.kind.score(examples, list(self._predictor.predict(examples)))

    def losses(self, examples: Sequence[Example]) -> list[float]:
        """How unlikely the model finds the right answer of each example; the highest are its worst errors."""
        return self._predictor.losses(examples)

    def learned_mixes(self) -> list[LearnedMix]:
        """The shares of the layers that the model has learnt, for each place and each contextual source."""
        return self.model.inputs.learned_mixes()

    def examples(self, given: Given, *, reading: ReadingChoices | None = None) -> Iterable[Example]:
        """What is given, as examples."""
        kind = self.blueprint.kind
        if isinstance(given, str):
            sentences = self.blueprint.segmentation.sentences(given)
            return kind.of_sentences([tuple(sentence) for sentence in sentences])
        if isinstance(given, Path):
            choices = reading or ReadingChoices()
            return choices.open(given, self.name, labelled=False, like=self.blueprint.segmentation)
        items = list(given)
        if any(isinstance(item, Example) for item in items):
            check_examples(self.name, items)  # type: ignore[arg-type]
            return items  # type: ignore[return-value]
        return kind.of_items(items, self.blueprint.segmentation)


def _examples(
    task: TaskName,
    given: str | Path | Sequence[Example],
    reading: ReadingChoices,
    watcher: Watcher,
    like: Segmentation | None = None,
) -> Sequence[Example]:
    """The examples of a file, or those that are given."""
    if isinstance(given, str | Path):
        return read_all(reading.open(given, task, like=like), watcher)
    check_examples(task, given)
    return given


def check_examples(task: TaskName, examples: Sequence[Example]) -> None:
    """Refuse examples of another task, and those that cannot be.

    Raises:
        InputError: With the first of them.
    """
    kind = kind_of(task)
    wanted = kind.example
    for number, example in enumerate(examples, 1):
        if not isinstance(example, wanted):
            raise InputError(
                f"example {number:,} is a {type(example).__name__}, but the task {task} has {wanted.__name__} "
                "(polyseme.tasks.examples); give such examples"
            )
        if problem := kind.problem(example):
            raise InputError(f"example {number:,}: {problem}")

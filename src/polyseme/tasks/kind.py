"""What a task is, apart from its network: its examples, labels, score and texts. Each task's file has one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Generic

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.progress import Figure
from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Example, Tokens
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Ex, TaskModel
from polyseme.tasks.settings import TaskSettings
from polyseme.text.batching import checked
from polyseme.text.segmentation import Segmentation

Tables = Mapping[str, Sequence[str]]
"""Lists that a model is built from, by name: its labels, most frequent first."""


class Kind(ABC, Generic[Ex]):
    """One task.

    Attributes:
        name: As the command line knows it.
        example: The type of its examples.
        metric: What `score` measures, for people.
        unit: What one example is, in the plural, for messages.
        sides: What the two texts of an example are, if it has two.
    """

    name: ClassVar[TaskName]
    example: ClassVar[type[Example]]
    metric: ClassVar[str]
    unit: ClassVar[str] = "sentences"
    sides: ClassVar[tuple[str, str] | None] = None

    @abstractmethod
    def sentences(self, example: Ex) -> Sequence[Tokens]:
        """The sentences whose words a model reads, in a fixed order.

        An example with a sentence without tokens is never learnt from, and `blank` answers it.
        """

    def size(self, example: Ex) -> int:
        """The tokens of an example; examples of similar size make a batch."""
        return sum(map(len, self.sentences(example)))

    @abstractmethod
    def is_labelled(self, example: Ex) -> bool:
        """Whether the right answer is known."""

    @abstractmethod
    def tables(self, examples: Sequence[Ex]) -> dict[str, list[str]]:
        """What the model has to know of the training data."""

    @abstractmethod
    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Ex]:
        """A new model with random weights."""

    @abstractmethod
    def score(self, gold: Sequence[Ex], predicted: Sequence[Ex]) -> Score:
        """How good predictions are, by the task's usual measure; higher is better."""

    @abstractmethod
    def blank(self, example: Ex, tables: Tables) -> Ex:
        """The answer for an example that has a sentence without tokens."""

    @abstractmethod
    def to_dict(self, example: Ex) -> dict[str, JSON]:
        """An answered example as a line of JSON holds it."""

    def text(self, example: Ex) -> str:
        """The words of an example, for people."""
        return " / ".join(" ".join(sentence) for sentence in self.sentences(example))

    @abstractmethod
    def difference(self, gold: Ex, predicted: Ex) -> tuple[str, str]:
        """The right answer and a wrong one, for people."""

    def is_right(self, gold: Ex, predicted: Ex) -> bool:
        """Whether an answer is right."""
        return gold == predicted

    def compared(self, gold: Ex, predicted: Ex) -> Iterable[tuple[str, str]]:
        """Pairs of a right label and the one that was given in its place, for the picture of confusions."""
        return ()

    def of_sentences(self, sentences: Sequence[Tokens]) -> list[Ex]:
        """The sentences of a raw text as examples without answers.

        Raises:
            InputError: The task needs more than sentences.
        """
        raise InputError(f"raw text has not all that the task {self.name} needs; give a file of {self.unit} instead")

    def of_items(self, items: Sequence[object], segmentation: Segmentation) -> list[Ex]:
        """What a user gives in a list as examples without answers; by default lists of tokens.

        Args:
            items: What is given.
            segmentation: How raw text is tokenised.

        Raises:
            InputError: Something else is given.
        """
        del segmentation
        return self.of_sentences([tuple(sentence) for sentence in checked(items)])  # type: ignore[arg-type]

    def to_learn(self, examples: Sequence[Ex], settings: TaskSettings) -> tuple[list[Ex], dict[str, Figure]]:
        """The training examples as the model learns from them, and what was changed, for people."""
        return list(examples), {}

    def problem(self, example: Ex) -> str | None:
        """What is wrong with an example that somebody made, and what to do; None if nothing is."""
        return None

    def unknown_labels(self, example: Ex, tables: Tables) -> set[str]:
        """Labels of an example that the model cannot give."""
        return set()

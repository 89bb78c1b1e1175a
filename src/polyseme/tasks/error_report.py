"""A model measured on a file: its score, which label it takes for which, and its worst errors."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from polyseme.files.whole import JSON
from polyseme.progress import Watcher
from polyseme.progress.figures import counted
from polyseme.tasks.data_files import ReadingChoices, read_all
from polyseme.tasks.examples import Example
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.task import Task

_LONGEST = 300
Confusion = dict[str, dict[str, int]]
"""How often each right label (outside) was given as each other (inside)."""


@dataclass(frozen=True)
class WorstError:
    """An example with a wrong answer.

    Attributes:
        number: Of the example in the file, from 1.
        text: Its words.
        right: The right answer.
        given: The answer of the model.
        loss: How unlikely the model finds the right answer: its negative log-likelihood.
    """

    number: int
    text: str
    right: str
    given: str
    loss: float

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {"number": self.number, "text": self.text, "right": self.right, "given": self.given, "loss": self.loss}


@dataclass(frozen=True)
class Evaluated:
    """What was measured."""

    score: Score
    confusion: Confusion
    errors: list[WorstError]
    unknown: list[str]
    """Labels of the file that the model does not know."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        worst: list[JSON] = [error.to_dict() for error in self.errors]
        return self.score.to_dict() | {"unknown_labels": [*self.unknown], "errors": worst}


def evaluate(task: Task, data: Path, reading: ReadingChoices, *, errors: int, watcher: Watcher) -> Evaluated:
    """Measure a model on a file.

    Args:
        task: The model.
        data: A file whose answers are known.
        reading: How it is read.
        errors: How many of the worst errors to give.
        watcher: Is told of repairs and of labels that the model does not know.
    """
    kind = task.blueprint.kind
    examples = read_all(reading.whole().open(data, task.name, like=task.blueprint.segmentation), watcher)
    watcher.begin(f"evaluating {data}")
    answers: list[Example] = []
    for answer in task.stream(examples):
        answers.append(answer)
        watcher.step(len(answers) / len(examples), {kind.unit: len(answers)})
    unknown = sorted({label for one in examples for label in kind.unknown_labels(one, task.blueprint.tables)})
    if unknown:
        watcher.note(
            f"{data}: counted as wrong, since the model does not have them: {counted(len(unknown), 'label')} "
            f"({', '.join(unknown[:5])})"
        )
    confusion: Counter[tuple[str, str]] = Counter()
    for example, answer in zip(examples, answers, strict=True):
        confusion.update(kind.compared(example, answer))
    table: Confusion = {}
    for (right, given), count in sorted(confusion.items()):
        table.setdefault(right, {})[given] = count
    return Evaluated(kind.score(examples, answers), table, _worst(task, examples, answers, errors), unknown)


def _worst(task: Task, examples: list[Example], answers: list[Example], most: int) -> list[WorstError]:
    """The wrong answers with the highest losses."""
    kind = task.blueprint.kind
    both = enumerate(zip(examples, answers, strict=True))
    wrong = [place for place, (one, other) in both if not kind.is_right(one, other)]
    if not most or not wrong:
        return []
    losses = dict(zip(wrong, task.losses([examples[place] for place in wrong]), strict=True))
    return [
        WorstError(place + 1, _cut(kind.text(examples[place])), _cut(right), _cut(given), losses[place])
        for place in sorted(wrong, key=lambda place: -losses[place])[:most]
        for right, given in [kind.difference(examples[place], answers[place])]
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."

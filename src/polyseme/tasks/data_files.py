"""The files that a task learns from, and how they are read."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from polyseme.errors import InputError
from polyseme.files.json_file import problems
from polyseme.progress import Watcher
from polyseme.tasks.choices import FormatName, HeadSpans, TaskName
from polyseme.tasks.examples import Example
from polyseme.tasks.readers.opening import Examples, open_examples
from polyseme.tasks.readers.reading import Options
from polyseme.text.choices import TokenizerChoice
from polyseme.text.segmentation import Segmentation


def _pairs(value: object) -> object:
    """Names of columns as they are written on the command line: text=review,label=stars."""
    if not isinstance(value, str):
        return value
    pairs = [pair.partition("=") for pair in value.split(",")]
    if not all(ours.strip() and theirs.strip() for ours, _, theirs in pairs):
        raise ValueError(f"{value!r} is not a list of columns; write text=review,label=stars")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


class ReadingChoices(BaseModel):
    """How files of examples are read; see `polyseme.tasks.readers.reading.Options`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["auto", FormatName] = Field(
        default="auto",
        description="The format of the data; auto recognises it by content. text is raw text, to be predicted for.",
    )
    tokenize: TokenizerChoice = Field(
        default="auto",
        description="How raw text in the data is split into tokens; auto goes by its look, or by the model.",
    )
    column: str | None = Field(
        default=None, description="The column of the tags: a number, or in CoNLL-U a name such as upos or feats:Number."
    )
    columns: Annotated[dict[str, str], BeforeValidator(_pairs)] = Field(
        default={}, description="What the columns of CSV, TSV or JSON lines are called: text=review,label=stars."
    )
    header: bool = Field(default=True, description="Whether CSV and TSV begin with the names of their columns.")
    classes: int = Field(default=5, description="Classes of sentiment trees: 5, or 2 without the neutral one.")
    subtrees: bool = Field(
        default=False, description="Whether every phrase of a sentiment tree is a text to learn from."
    )
    spans: HeadSpans = Field(default="heads", description="What an argument is where only its head word is marked.")

    def open(
        self, path: str | Path, task: TaskName, *, labelled: bool = True, like: Segmentation | None = None
    ) -> Examples:
        """Open a file.

        Args:
            path: The file.
            task: What it is read for.
            labelled: Whether answers must be there.
            like: How raw text is tokenised if that was not chosen.
        """
        cut = like
        if self.tokenize != "auto":
            cut = Segmentation(None if self.tokenize == "none" else self.tokenize)
        options = Options(
            labelled=labelled,
            column=self.column,
            classes=self.classes,
            subtrees=self.subtrees,
            spans=self.spans,
            columns=self.columns,
            header=self.header,
        )
        return open_examples(path, task=task, format=self.format, segmentation=cut, options=options)

    def whole(self) -> "ReadingChoices":
        """The same for data that is measured on: without the phrases of a text."""
        return self.model_copy(update={"subtrees": False})


READING = tuple(ReadingChoices.model_fields)


def reading_choices(given: Mapping[str, object]) -> ReadingChoices:
    """The choices among some options; None means not given.

    Raises:
        InputError: A value is not possible.
    """
    chosen = {name: given[name] for name in READING if given.get(name) is not None}
    try:
        return ReadingChoices.model_validate(chosen)
    except ValidationError as error:
        place, problem = next(problems(error))
        raise InputError(f"{place}: {problem}") from None


class DataFiles(BaseModel):
    """Which files a run learns from; part of what its result depends on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    train: str
    dev: str | None = None
    reading: ReadingChoices = ReadingChoices()

    def read(self, task: TaskName, watcher: Watcher) -> tuple[list[Example], list[Example] | None]:
        """The training examples, and the held-out ones if there are any; repairs are told."""
        training = self.reading.open(self.train, task)
        found = read_all(training, watcher)
        if self.dev is None:
            return found, None
        return found, read_all(self.reading.whole().open(self.dev, task, like=training.segmentation), watcher)


def read_all(examples: Examples, watcher: Watcher) -> list[Example]:
    """All examples of a file; what was mended or left out is told."""
    found = examples.read()
    for line in told_repairs(examples):
        watcher.note(line)
    return found


def told_repairs(examples: Examples) -> Iterator[str]:
    """A line for each kind of repair that was made while reading."""
    return (f"{examples.path}: {line}" for line in examples.repairs.lines())

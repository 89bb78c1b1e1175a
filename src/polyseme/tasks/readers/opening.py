"""Opens the data of a task: recognises its format, and reads its examples as often as they are needed."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Literal

from polyseme.errors import InputError
from polyseme.tasks.choices import TASKS, FormatName, TaskName
from polyseme.tasks.examples import Example
from polyseme.tasks.readers.formats import Beginning, Format, find_format, recognise
from polyseme.tasks.readers.reading import Options, Reading
from polyseme.tasks.readers.repairs import DataRepairs
from polyseme.text.lines import Lines
from polyseme.text.looks import look_at
from polyseme.text.segmentation import Segmentation, resolve

_BEGINNING = 2**16
_LOOKED_AT = 50
"""How many examples are read to see whether their text is raw, and in which language."""


class Examples:
    """The examples of a file; made by `open_examples`, and iterated as often as needed.

    Attributes:
        path: The file.
        task: What it is read for.
        format: Its format.
        options: The choices it is read by.
        segmentation: How its raw text is split into tokens; None in formats that have none.
        repairs: What was mended or left out so far in the current iteration.
    """

    def __init__(
        self, path: Path, task: TaskName, form: Format, options: Options, segmentation: Segmentation | None
    ) -> None:
        self.path = path
        self.task = task
        self.options = options
        self.repairs = DataRepairs()
        self._form = form
        self.segmentation: Segmentation | None = None
        if form.raw:
            self.segmentation = segmentation or self._look()

    @property
    def format(self) -> FormatName:
        """The name of the file's format."""
        return self._form.name

    def __iter__(self) -> Iterator[Example]:
        self.repairs = DataRepairs()
        return self._read(self.repairs, self._split)

    def read(self) -> list[Example]:
        """All examples.

        Raises:
            InputError: With file and line, if the file is not as it should be; or there is no example.
        """
        found = list(self)
        if not found:
            why = f" ({self.repairs})" if self.repairs else ""
            raise InputError(f"{self.path}: no example for the task {self.task!r} in it{why}; give at least one")
        return found

    def _split(self, text: str) -> list[str]:
        segmentation = self.segmentation or Segmentation()
        return [token for sentence in segmentation.sentences(text) for token in sentence]

    def _look(self) -> Segmentation:
        texts: list[str] = []

        def split(text: str) -> list[str]:
            texts.append(text)
            return text.split()

        for _ in islice(self._read(DataRepairs(), split), _LOOKED_AT):
            pass
        shown = "\n".join(texts)
        if self._form.english and look_at(shown) == "unknown":
            return Segmentation("en")
        return resolve("auto", None, None, lambda: shown)[0]

    def _read(self, repairs: DataRepairs, split: Callable[[str], list[str]]) -> Iterator[Example]:
        with self._reading(self.options, repairs, split) as reading:
            yield from self._form.read(reading)

    def reopened(self) -> AbstractContextManager[Reading]:
        """The file open from its beginning, for a writer that puts predictions in the place of its answers."""
        return self._reading(self.options, DataRepairs(), self._split)

    @contextmanager
    def _reading(self, options: Options, repairs: DataRepairs, split: Callable[[str], list[str]]) -> Iterator[Reading]:
        with _opened(self.path) as file:
            lines = Lines(file, name=str(self.path), repairs=repairs.text)
            yield Reading(lines, self.task, options, repairs, split, self.segmentation)


def open_examples(
    path: str | Path,
    *,
    task: TaskName,
    format: FormatName | Literal["auto"] = "auto",  # noqa: A002 - what the user calls it
    segmentation: Segmentation | None = None,
    options: Options | None = None,
) -> Examples:
    """Open a file of examples.

    Args:
        path: The file; gzip is recognised by content.
        task: What it is read for.
        format: Its format; ``auto`` recognises it by content and suffix.
        segmentation: How raw text is split into tokens, where the format has raw text; by default as it looks: English
            or Chinese is tokenised, other text is split at white space.
        options: The choices of the formats.

    Raises:
        InputError: The file cannot be opened or recognised; while iterating, a line is not as it should be.

    Example:
        >>> examples = open_examples("train.conllu", task="tag")
        >>> examples.format, [example.tags for example in examples]
        ('conllu', [('DET', 'NOUN', 'VERB'), ('PRON', 'VERB')])
    """
    place = Path(path)
    if task not in TASKS:
        raise InputError(f"unknown task {task!r}; choose one of {', '.join(TASKS)}")
    choices = options or Options()
    prose = not choices.labelled and choices.column is None
    auto = format == "auto"
    form = recognise(_beginning(place), task, str(place), may_be_text=prose) if auto else find_format(format)
    if task not in form.tasks:
        raise InputError(
            f"{place}: the format {form.name} holds no data for the task {task!r}, only for "
            f"{', '.join(form.tasks)}; choose another format"
        )
    return Examples(place, task, form, choices, segmentation)


def _beginning(path: Path) -> Beginning:
    with _opened(path) as file:
        lines = Lines(file, name=str(path), repairs=DataRepairs().text)
        text = ""
        while len(text) < _BEGINNING and (more := lines.readline(_BEGINNING - len(text))):
            text += more
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if not text.strip():
        raise InputError(f"{path}: is empty; give examples")
    return Beginning.of(text, suffix)


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}; check the path") from error

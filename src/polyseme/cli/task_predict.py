"""``polyseme task predict``: what a task model says of text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyseme.cli.arguments import ProgressOption
from polyseme.cli.progress import shown
from polyseme.cli.tables import json_line
from polyseme.cli.task_options import MovedVectorsOption, TaskModelArgument
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.tasks.examples import Example
    from polyseme.tasks.kind import Kind
    from polyseme.tasks.readers.opening import Examples
    from polyseme.tasks.task import Task

_SUFFIXES = (".txt", ".text", ".md", ".conll", ".conllu", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".gz")
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")

SecondText = Annotated[
    str | None,
    typer.Argument(
        metavar="[SECOND]",
        help="The second of two raw texts: for entail the hypothesis after the premise, for answer the passage "
        "after the question. A file of raw text, - for standard input, or the text itself.",
        show_default=False,
    ),
]


FirstText = Annotated[
    str, typer.Argument(help="A file of examples or raw text, - for raw text from standard input, or raw text itself.")
]
OutputFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="The file to write; by default standard output.")
]
WrittenAs = Annotated[
    Literal["jsonl", "same"], typer.Option(help="JSON lines, or the format of the input with the answers in it.")
]


def predict(
    model: TaskModelArgument,
    text: FirstText,
    other: SecondText = None,
    output: OutputFile = None,
    write: WrittenAs = "jsonl",
    vectors: MovedVectorsOption = None,
    progress: ProgressOption = "auto",
    **reading: Any,
) -> None:
    """Answer a file of examples or of raw text, or raw text itself, which is tokenised as the training data was.

    In a file of raw text a sentence is an example of tag and ner, a line of classify, and the whole file of coref.

    Example: polyseme task predict my-ner "Angela Merkel met him in Paris."

    Example: polyseme task predict my-qa "Who met him?" passage.txt
    """
    from polyseme.tasks.task import Task
    from polyseme.tasks.writers.writing import write_predictions

    task = Task.load(model, vectors=vectors)
    examples = None
    pair = None if other is None else _pair(task.blueprint.kind, text, other)
    if pair is None and text != "-" and _is_file(Path(text)):
        examples = _opened(task, Path(text), reading, told=write != "same")
    elif write == "same":
        raise InputError("--write same needs a file to copy; raw text has no format, use jsonl")
    with shown(progress):
        answers = task.stream(pair or (_raw(text) if examples is None else examples))
        if output is not None:
            write_predictions(output, answers, examples=examples, format=write)
            return
        if write == "same":
            raise InputError("--write same writes a file; name it with --output")
        for answer in answers:
            typer.echo(json_line(task.blueprint.kind.to_dict(answer)))


def _opened(task: "Task", path: Path, reading: dict[str, object], *, told: bool) -> "Examples":
    """The examples of a file; a line says so if it is taken for raw text, unless an error will."""
    from polyseme.tasks.data_files import reading_choices

    choices = reading_choices(reading)
    examples = choices.open(path, task.name, labelled=False, like=task.blueprint.segmentation)
    if told and examples.format == "text" and choices.format == "auto":
        typer.echo(f"polyseme: {path}: read as raw text ({examples.segmentation}); --format names another", err=True)
    return examples


def _pair(kind: "Kind[Example]", text: str, other: str) -> list[tuple[str, str]]:
    """Two raw texts, from files or standard input if they are named."""
    if kind.sides is None:
        raise InputError(f"the task {kind.name} takes one text, but a second is given; leave out {other[:40]!r}")
    if text == other == "-":
        raise InputError("standard input can give one of the two texts only; write - once")
    return [(_content(text), _content(other))]


def _content(text: str) -> str:
    if text == "-" or not _is_file(Path(text)):
        return _raw(text)
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{text}: could not be read as text ({error}); give a file of raw text in UTF-8") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text is too long for the name of a file
        return False


def _raw(text: str) -> str:
    """Raw text as it is given, or from standard input; what looks like the path of a file is refused."""
    if text == "-":
        return typer.get_text_stream("stdin").read()
    is_path = ("/" in text and not text.endswith(_SENTENCE_ENDS)) or text.lower().endswith(_SUFFIXES)
    if is_path and not any(map(str.isspace, text)):
        raise InputError(
            f"{text}: no such file is there; correct the path. If it is the text itself, give - in its place and the "
            "text by standard input"
        )
    return text

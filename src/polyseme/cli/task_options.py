"""Options that the commands of ``polyseme task`` share."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.errors import InputError
from polyseme.tasks.choices import TaskName

if TYPE_CHECKING:
    from polyseme.tasks.training import Asked

TaskArgument = Annotated[
    TaskName,
    typer.Argument(
        metavar="TASK",
        help="tag (part of speech and the like), ner (names), classify (texts), entail (pairs of sentences), answer "
        "(questions about a passage), roles (who did what) or coref (mentions of the same thing).",
        show_default=False,
    ),
]
TaskModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A folder that polyseme task train wrote.", show_default=False)
]
VectorsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vectors",
        help="Word vectors to read: a bundled model, a model or static vectors of any known format; may be given "
        "several times. none: only what the task learns itself. By default the bundled model of the text's language.",
        show_default=False,
    ),
]
MovedVectorsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vectors",
        help="Where the model's vectors are now, in their order, if they are no longer where they were.",
        show_default=False,
    ),
]


def asked_for(
    task: TaskName, training: str | None, dev: str | None, vectors: list[str] | None, options: dict[str, Any]
) -> "Asked":
    """The options of a command as the library takes them."""
    from polyseme.tasks.data_files import READING, DataFiles, reading_choices
    from polyseme.tasks.training import Asked

    reading = reading_choices(options)
    if training is None and dev is not None:
        raise InputError(f"--dev {dev}: without --train it has no meaning; give both, or with --resume neither")
    files = None if training is None else DataFiles(train=training, dev=dev, reading=reading)
    settings = {name: value for name, value in options.items() if name not in READING}
    return Asked(task, files, _vector_paths(vectors), settings)


def _vector_paths(vectors: list[str] | None) -> list[str] | None:
    """The vectors that are asked for: None by default, empty for none."""
    if not vectors:
        return None
    if "none" in vectors:
        if len(vectors) > 1:
            raise InputError("--vectors none stands for no vectors at all; leave it out beside others")
        return []
    return vectors

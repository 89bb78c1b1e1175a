"""``polyseme task evaluate``: how good a task model is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.arguments import CsvFlag, JsonFlag, ProgressOption
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Table, form_of, print_json, print_results
from polyseme.cli.task_options import MovedVectorsOption, TaskModelArgument

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.tasks.error_report import Evaluated

COLUMNS = (
    Column("label", 20),
    Column("precision", 11, ".2f"),
    Column("recall", 11, ".2f"),
    Column("f1", 11, ".2f"),
    Column("n", 9, ","),
)


def evaluate(
    model: TaskModelArgument,
    data: Annotated[Path, typer.Argument(help="A file whose answers are known.", show_default=False)],
    vectors: MovedVectorsOption = None,
    errors: Annotated[int, typer.Option(min=0, help="Show this many of the worst errors.")] = 5,
    plot: Annotated[Path | None, typer.Option(help="Draw which label was taken for which: .png or .svg.")] = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    **reading: Any,
) -> None:
    """Measure a model by the task's usual score, with the figures of each label and the worst errors.

    An error is the worse, the less likely the model finds the right answer.

    Example: polyseme task evaluate my-ner test.conll
    """
    from polyseme import plots
    from polyseme.tasks.data_files import reading_choices
    from polyseme.tasks.error_report import evaluate as measure
    from polyseme.tasks.task import Task

    form = form_of(as_json, as_csv)
    if plot is not None:
        plots.check_path(plot)
    task = Task.load(model, vectors=vectors)
    with shown(progress) as watcher:
        found = measure(task, data, reading_choices(reading), errors=errors, watcher=watcher)
    if form == "json":
        print_json("task evaluate", found.to_dict())
    else:
        _print(found, form == "csv")
    if plot is not None and (note := plots.confusion_chart(plot, found.confusion, title=f"{task.name}: {data.name}")):
        typer.echo(f"polyseme: {note}", err=True)


def _print(found: "Evaluated", as_csv: bool) -> None:
    """The table of labels, the score and the worst errors."""
    rows: list[dict[str, JSON]] = [{"label": label, **one.to_dict()} for label, one in found.score.labels.items()]
    if rows:
        print_results("csv" if as_csv else "text", "task evaluate", {}, Table(COLUMNS, rows))
    if as_csv:
        return
    typer.echo(f"{found.score.metric} {found.score.score:.2f} (n = {found.score.n:,})")
    for name, value in found.score.details.items():
        if isinstance(value, int | float):
            typer.echo(f"{name} {value:.2f}")
    for error in found.errors:
        typer.echo(f"\n{error.number:,}. {error.text}\n    right: {error.right}\n    given: {error.given}")

"""``polyseme task compare``: what vectors, layers and places bring to a task."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.arguments import CsvFlag, JsonFlag, ProgressOption
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Table, form_of, print_results
from polyseme.cli.task_options import TaskArgument, VectorsOption, asked_for
from polyseme.tasks.choices import COMPARE_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyseme.files.whole import JSON
    from polyseme.tasks.compare import Compared

COLUMNS = (
    Column("table", 9),
    Column("model", 34),
    Column("examples", 9, ","),
    Column("score", 9, ".2f"),
    Column("spread", 8, ".2f"),
    Column("error_reduction", 13, ".1f", title="less error %"),
)

_TablesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help=f"What to compare: {', '.join(COMPARE_TABLES)}; may be given several times.",
        show_default="layers, places",
    ),
]


def compare(
    task: TaskArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder for all models.", show_default=False)],
    training: Annotated[str, typer.Option("--train", help="Data to learn from.", show_default=False)],
    dev: Annotated[str | None, typer.Option(help="Held-out data; by default a tenth of the other.")] = None,
    test: Annotated[Path | None, typer.Option(help="Data to measure on; by default the held-out data.")] = None,
    vectors: VectorsOption = None,
    tables: _TablesOption = None,
    seeds: Annotated[int, typer.Option(min=1, help="Models of each kind; the table has mean and spread.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve (--table curve): .png or .svg.")] = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    **settings: Any,
) -> None:
    """Train models that differ in one thing, and print the tables of the ELMo paper for your own data.

    Models that are in the output folder already are not trained again, so an interrupted comparison is continued by
    the same command.

    Example: polyseme task compare ner --train train.conll --dev dev.conll -o ner-models --table layers
    """
    from polyseme import plots
    from polyseme.tasks.compare import compare as measure
    from polyseme.tasks.comparison import check_tables

    form = form_of(as_json, as_csv)
    if plot is not None:
        plots.check_path(plot)
    asked = asked_for(task, training, dev, vectors, settings)
    with shown(progress) as watcher:
        found = measure(
            asked, output, tables=check_tables(tables or ["layers", "places"]), seeds=seeds, test=test, watcher=watcher
        )
    print_results(form, "task compare", {"task": task, "output": str(output)}, Table(COLUMNS, _rows(found)))
    if plot is not None and (note := _draw(plot, task, found)):
        typer.echo(f"polyseme: {note}", err=True)


def _rows(found: "Sequence[Compared]") -> "list[dict[str, JSON]]":
    """Each row beside the baseline of its table (of its share of the data, in the curve)."""
    baselines: dict[tuple[str, float], float] = {}
    for one in found:
        baselines.setdefault((one.variant.table, one.variant.share), sum(one.scores) / len(one.scores))
    return [one.to_dict(baselines[one.variant.table, one.variant.share]) for one in found]


def _draw(path: Path, task: str, found: "Sequence[Compared]") -> str | None:
    from polyseme import plots

    lines: dict[str, list[tuple[int, float, float]]] = {}
    for one in found:
        if one.variant.table == "curve":
            record = one.to_dict(None)
            point = (one.examples, float(str(record["score"])), float(str(record["spread"])))
            lines.setdefault(one.variant.name.partition(",")[0], []).append(point)
    if not lines:
        return f"{path}: not drawn, as --table curve was not asked for"
    return plots.sample_chart(path, lines, title=f"{task}: score by training examples")

"""``polyseme task``: train a model for a task on your own data; measure and use it."""

import inspect
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli import BEGUN
from polyseme.cli.arguments import JsonFlag, ProgressOption
from polyseme.cli.progress import shown
from polyseme.cli.settings_options import (
    CompareTaskCommand,
    EvaluateTaskCommand,
    PredictTaskCommand,
    SettingsCommand,
    TrainTaskCommand,
)
from polyseme.cli.tables import print_json
from polyseme.cli.task_compare import compare
from polyseme.cli.task_evaluate import evaluate
from polyseme.cli.task_options import TaskArgument, VectorsOption, asked_for
from polyseme.cli.task_predict import predict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyseme.files.whole import JSON
    from polyseme.models.combined_layers import LearnedMix
    from polyseme.tasks.training import Trained

app = typer.Typer(
    no_args_is_help=True,
    help="Train a tagger, a classifier or another model on your own data; measure and use it.",
)


def train(
    task: TaskArgument,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of the model to write.", show_default=False)
    ],
    training: Annotated[
        str | None, typer.Option("--train", help="Data to learn from; not needed with --resume.", show_default=False)
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="Held-out data that decides which model is kept; else a tenth.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Data to measure the finished model on.")] = None,
    vectors: VectorsOption = None,
    seeds: Annotated[int, typer.Option(min=1, help="Train several models, into OUTPUT-1, OUTPUT-2, ...")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw the learned mix of layers: a .png or .svg file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where an interrupted run stopped.")] = False,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    **settings: Any,
) -> None:
    """Train a model for a task on your own data, and keep the one that is best on held-out data.

    Contextual vectors are computed once and kept while the run lasts. Ctrl-C saves; --resume continues.

    Example: polyseme task train ner --train train.conll --dev dev.conll -o my-ner
    """
    if plot is not None:
        from polyseme import plots

        plots.check_path(plot)
    asked = asked_for(task, training, dev, vectors, settings)
    from polyseme.tasks.training import train_models

    with shown(progress) as watcher:
        found = train_models(asked, output, seeds=seeds, resume=resume, test=test, watcher=watcher, begun=BEGUN)
    if not found[-1].finished:
        _leave(found[-1])
    _report(task, found, as_json=as_json, plot=plot)


def _leave(last: "Trained") -> None:
    assert last.outcome is not None
    typer.echo(f"{last.output}: stopped after update {last.outcome.updates:,}; continue with --resume", err=True)
    sys.exit(128 + (last.outcome.signal or signal.SIGINT))


def _report(task: str, found: "Sequence[Trained]", *, as_json: bool, plot: Path | None) -> None:
    """Print the scores, their mean and spread, and the learned mix of the first model."""
    from polyseme.tasks.task import Task

    mixes = Task.load(found[0].output).learned_mixes()
    facts: dict[str, JSON] = {"task": task, **_summary(found), "mixes": [_plain(one) for one in mixes]}
    if as_json:
        print_json("task train", {**facts, "results": [one.to_dict() for one in found]})
    else:
        _print_scores(found, facts)
        for mix in mixes:
            shares = ", ".join(f"{j}: {share:.3f}" for j, share in zip(mix.layers, mix.shares, strict=True))
            typer.echo(f"mix at the {mix.output}: layers {shares}; gamma {mix.gamma:.3f}")
    if plot is not None and (note := _draw(plot, task, mixes)):
        typer.echo(f"polyseme: {note}", err=True)


def _print_scores(found: "Sequence[Trained]", facts: "dict[str, JSON]") -> None:
    for one in found:
        record = one.to_dict()
        scores = ", ".join(f"{name} {record[name]:.2f}" for name in ("dev", "test") if record.get(name) is not None)
        typer.echo(f"{one.output}: {scores or 'trained before'}")
    for name in ("dev", "test"):
        if len(found) > 1 and f"{name}_mean" in facts:
            typer.echo(f"{name}: mean {facts[f'{name}_mean']:.2f}, spread {facts[f'{name}_spread']:.2f}")


def _summary(found: "Sequence[Trained]") -> "dict[str, JSON]":
    """Mean and spread of the scores."""
    from polyseme.tasks.training import mean_and_spread

    facts: dict[str, JSON] = {}
    for name in ("dev", "test"):
        values = [one.to_dict().get(name) for one in found]
        scores = [value for value in values if isinstance(value, float)]
        if len(scores) == len(found):
            facts[f"{name}_mean"], facts[f"{name}_spread"] = mean_and_spread(scores)
    return facts


def _plain(mix: "LearnedMix") -> "JSON":
    head: dict[str, JSON] = {"at": mix.output, "vectors": mix.part, "gamma": mix.gamma}
    return head | {"layers": [*mix.layers], "shares": [*mix.shares]}


def _draw(path: Path, task: str, mixes: "Sequence[LearnedMix]") -> str | None:
    from polyseme import plots

    if not mixes:
        return f"{path}: not drawn, as the model has learned no mix of layers"
    return plots.mix_chart(path, {f"{task}, {one.output}": one.shares for one in mixes}, title="learned mix of layers")


def _add(command: "Callable[..., None]", kind: type[SettingsCommand]) -> None:
    """Add a command whose settings the command line learns from their own fields."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    app.command(command.__name__, cls=kind)(command)


_add(train, TrainTaskCommand)
_add(evaluate, EvaluateTaskCommand)
_add(predict, PredictTaskCommand)
_add(compare, CompareTaskCommand)

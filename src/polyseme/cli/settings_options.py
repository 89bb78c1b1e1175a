"""Command-line options made from the training settings, which are described once, next to their fields."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from pydantic import BaseModel

Value: TypeAlias = Any
"""An annotation, a default, or what typer hands over."""
Groups: TypeAlias = Mapping[str, Sequence[str]]
"""The names of the settings in each group of the help."""
Presets: TypeAlias = Mapping[Value, Mapping[str, Value]]
"""What each preset changes."""


class SettingsCommand(TyperCommand):
    """A command with one more option for each training setting.

    The command gets them as keywords, None if an option was not given, so that a preset can set it. They are made when
    the command is used, so that `polyseme --help` does not have to load the settings.
    """

    _complete = False

    def get_params(self, ctx: Value) -> Value:
        """The command's own parameters, then the settings."""
        if not self._complete:
            self._complete = True
            app = typer.Typer(add_completion=False)
            app.command()(_with_settings(*self.parts()))
            whole = typer.main.get_command(app)
            self.params, self.callback = whole.params, whole.callback
        return super().get_params(ctx)

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """The function behind the command, its settings, how they are grouped, and its presets."""
        from polyseme.cli.train import train
        from polyseme.train.lm.settings import GROUPS, PRESETS, LmSettings

        return train, LmSettings, GROUPS, PRESETS


class TranslateSettingsCommand(SettingsCommand):
    """The same for ``polyseme cove train``."""

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """See `SettingsCommand`."""
        from polyseme.cli.cove import train
        from polyseme.train.translate.settings import GROUPS, TranslateSettings

        return train, TranslateSettings, GROUPS, {}


class ServeSettingsCommand(SettingsCommand):
    """The same for the limits of ``polyseme serve``."""

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """See `SettingsCommand`."""
        from polyseme.cli.serve import serve
        from polyseme.serve.limits import Limits

        return serve, Limits, {"Limits": [*Limits.model_fields]}, {}


class TrainTaskCommand(SettingsCommand):
    """The same for ``polyseme task train``, with the choices for reading its data."""

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """See `SettingsCommand`."""
        from polyseme.cli.task import train

        return train, *_training()


class CompareTaskCommand(SettingsCommand):
    """The same for ``polyseme task compare``."""

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """See `SettingsCommand`."""
        from polyseme.cli.task_compare import compare

        return compare, *_training()


class EvaluateTaskCommand(SettingsCommand):
    """The same for ``polyseme task evaluate``: the choices for reading its data."""

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """See `SettingsCommand`."""
        from polyseme.cli.task_evaluate import evaluate

        return evaluate, *_reading()


class PredictTaskCommand(SettingsCommand):
    """The same for ``polyseme task predict``: the choices for reading its data."""

    def parts(self) -> tuple[Callable[..., None], "type[BaseModel]", Groups, Presets]:
        """See `SettingsCommand`."""
        from polyseme.cli.task_predict import predict

        return predict, *_reading()


def _training() -> tuple["type[BaseModel]", Groups, Presets]:
    """The choices for reading data that is learnt from, and the settings of a run."""
    from polyseme.tasks.data_files import READING, ReadingChoices
    from polyseme.tasks.settings import DEFAULTS, GROUPS, TaskSettings

    class Both(TaskSettings, ReadingChoices):
        """The options of the command."""

    return Both, {"Data": READING, **GROUPS}, DEFAULTS


def _reading() -> tuple["type[BaseModel]", Groups, Presets]:
    """The choices for reading data that is not learnt from."""
    from polyseme.tasks.data_files import READING, ReadingChoices

    return ReadingChoices, {"Data": [name for name in READING if name != "subtrees"]}, {}


def _with_settings(
    function: Callable[..., None], settings: "type[BaseModel]", groups: Groups, presets: Presets
) -> Callable[..., None]:
    """A function that takes ``**settings``, with a parameter for each of them in its signature."""
    parameters = list(inspect.signature(function).parameters.values())
    for group, name in ((group, name) for group, names in groups.items() for name in names):
        field = settings.model_fields[name]
        kind = _typed(field.annotation)
        option = typer.Option(
            _spelled(name, flag=kind is bool),
            help=f"{field.description} {_defaults(name, field.default, presets)}".rstrip(),
            show_default=False,
            rich_help_panel=group,
        )
        annotation: Value = Annotated[kind | None, option]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))

    def command(*arguments: Value, **options: Value) -> None:
        function(*arguments, **options)

    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _spelled(name: str, *, flag: bool) -> str:
    """The option for a setting: ``--hidden-dim``, or ``--fine-tune/--no-fine-tune`` for one that is on or off."""
    option = name.replace("_", "-")
    return f"--{option}/--no-{option}" if flag else f"--{option}"


def _typed(annotation: Any) -> Any:
    """The type of the option for a field; types that typer cannot read become text, which pydantic checks."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal or annotation in (int, bool):
        return annotation
    inner = [one for one in get_args(annotation) if one is not type(None)]
    return _typed(inner[0]) if len(inner) == 1 and type(None) in get_args(annotation) else str


def _defaults(name: str, default: Value, presets: Presets) -> str:
    values = {"default": default} | {preset: fields[name] for preset, fields in presets.items() if name in fields}
    shown = [f"{preset}: {_shown(value)}" for preset, value in values.items() if value is not None]
    return f"({'; '.join(shown)})" if shown else ""


def _shown(value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(":".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Command-line options made from the training settings, which are described once, next to their fields."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import typer
from typer.core import TyperCommand

Value: TypeAlias = Any
"""An annotation, a default, or what typer hands over."""


class SettingsCommand(TyperCommand):
    """A command with one more option for each training setting.

    The command gets them as keywords, None if an option was not given, so that a preset can set it. They are made when
    the command is used, so that `polyseme --help` does not have to load the settings.
    """

    _complete = False

    def get_params(self, ctx: Value) -> Value:
        """The command's own parameters, then the settings."""
        if not self._complete:
            from polyseme.cli.train import train

            self._complete = True
            app = typer.Typer(add_completion=False)
            app.command()(_with_settings(train))
            whole = typer.main.get_command(app)
            self.params, self.callback = whole.params, whole.callback
        return super().get_params(ctx)


def _with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """A function that takes ``**settings``, with a parameter for each of them in its signature."""
    from polyseme.train.lm.settings import GROUPS, PRESETS, LmSettings

    parameters = list(inspect.signature(function).parameters.values())
    for group, name in ((group, name) for group, names in GROUPS.items() for name in names):
        field = LmSettings.model_fields[name]
        option = typer.Option(
            "--" + name.replace("_", "-"),
            help=f"{field.description} {_defaults(name, field.default, PRESETS)}".rstrip(),
            show_default=False,
            rich_help_panel=group,
        )
        kind = _typed(field.annotation) | None
        annotation: Value = Annotated[kind, option]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))

    def command(*arguments: Value, **options: Value) -> None:
        function(*arguments, **options)

    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _typed(annotation: Any) -> Any:
    """The type of the option for a field; types that typer cannot read become text, which pydantic checks."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal or annotation is int:
        return annotation
    inner = [one for one in get_args(annotation) if one is not type(None)]
    return _typed(inner[0]) if len(inner) == 1 and type(None) in get_args(annotation) else str


def _defaults(name: str, default: Value, presets: Mapping[Value, Mapping[str, Value]]) -> str:
    values = {"default": default} | {preset: fields[name] for preset, fields in presets.items() if name in fields}
    shown = [f"{preset}: {_shown(value)}" for preset, value in values.items() if value is not None]
    return f"({'; '.join(shown)})" if shown else ""


def _shown(value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(":".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)

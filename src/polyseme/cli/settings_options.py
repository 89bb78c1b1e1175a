"""Command-line options made from a settings model: each setting is written down once, beside its field."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel


def add_options(
    function: Callable[..., None], settings: type[BaseModel], presets: Mapping[Any, Mapping[str, Any]]
) -> Callable[..., None]:
    """Give a command one option for each field of a settings model.

    The command gets them as keywords, None where the option was not given, so that a preset can fill it in.

    Args:
        function: A command that takes ``**settings``.
        settings: The model; the type, the description and the default of each field make the option.
        presets: By name, the fields that each sets otherwise; the help says so.
    """
    own = inspect.signature(function)
    parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    for name, field in settings.model_fields.items():
        option = typer.Option(
            "--" + name.replace("_", "-"),
            help=f"{field.description} {_defaults(name, field.default, presets)}".rstrip(),
            show_default=False,
            rich_help_panel="Settings",
        )
        kind = _typed(field.annotation) | None
        annotation: Any = Annotated[kind, option]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))

    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
    return function


def _typed(annotation: Any) -> Any:
    """What the command line reads for a field; what it cannot read itself it takes as text, for the model to check."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal or annotation is int:
        return annotation
    inner = [one for one in get_args(annotation) if one is not type(None)]
    return _typed(inner[0]) if len(inner) == 1 and type(None) in get_args(annotation) else str


def _defaults(name: str, default: Any, presets: Mapping[Any, Mapping[str, Any]]) -> str:
    values = {"default": default} | {preset: fields[name] for preset, fields in presets.items() if name in fields}
    shown = [f"{preset}: {_shown(value)}" for preset, value in values.items() if value is not None]
    return f"({'; '.join(shown)})" if shown else ""


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(":".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)

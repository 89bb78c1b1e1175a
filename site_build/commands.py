"""The command reference, written from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer

INTRODUCTION = """\
# Commands

What `polyseme COMMAND --help` says, for every command. Results are printed on standard output and messages on standard
error; the exit code is 0, or 2 after one line that says what is wrong (130 and 143 after Ctrl-C and SIGTERM).
"""


def reference() -> str:
    """The page of all commands, in Markdown."""
    from polyseme.cli.main import app

    root = typer.main.get_command(app)
    return INTRODUCTION + "".join(_section(name, command) for name, command in commands(root))


def commands(group: Any, prefix: str = "polyseme") -> Iterator[tuple[str, Any]]:
    """Each command below a group with its full name, in the order of the help."""
    for name, command in group.commands.items():
        full = f"{prefix} {name}"
        if hasattr(command, "commands"):
            yield from commands(command, full)
        else:
            yield full, command


def _section(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    text = f"\n## {name}\n\n{_described(command.help or '')}\n\n```\n{usage}\n```\n"
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or parameter.name == "help":
            continue
        default = "Arguments" if parameter.param_type_name == "argument" else "Options"
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or default, []).append(record)
    for title, records in panels.items():
        text += f"\n| {title} | |\n|---|---|\n"
        text += "".join(f"| `{_cell(first)}` | {_cell(second)} |\n" for first, second in records)
    return text


def _described(text: str) -> str:
    """The help of a command, its example as code."""
    described, _, example = text.partition("Example: ")
    if not example:
        return _plain(described)
    line, _, rest = example.partition("\n\n")
    return _plain(f"{described.strip()}\n\nExample:") + f"\n\n```\n{line.strip()}\n```\n\n" + _plain(rest)


def _plain(text: str) -> str:
    """Text whose angle brackets and brackets are not read as markup."""
    return text.replace("<", "&lt;").replace("[", "\\[")


def _cell(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line.replace("<", "‹").replace(">", "›") if line.startswith(("-", "{")) else _plain(line)

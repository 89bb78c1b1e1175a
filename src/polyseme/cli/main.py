"""The ``polyseme`` command."""

import os
import sys
from typing import Annotated

import click
import typer

import polyseme
from polyseme.cli import convert, embed, info
from polyseme.errors import PolysemeError

app = typer.Typer(
    name="polyseme",
    help="Contextual word vectors (ELMo) that anyone can load, run and look into.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("embed")(embed.embed)
app.command("info")(info.info)
app.command("convert")(convert.convert)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"polyseme {polyseme.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Contextual word vectors (ELMo) that anyone can load, run and look into."""


def main() -> None:
    """Run a command; leave with 0, or with 2 and one clear line."""
    try:
        code = app(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except PolysemeError as error:
        typer.echo(f"polyseme: {error}", err=True)
        code = 2
    except (KeyboardInterrupt, click.Abort):
        typer.echo("polyseme: interrupted", err=True)
        code = 130
    except BrokenPipeError:
        # The reader of our output left, as `head` does; nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)

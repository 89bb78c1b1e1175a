"""The ``polyseme`` command."""

import sys
from typing import Annotated

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
        app()
    except PolysemeError as error:
        typer.echo(f"polyseme: {error}", err=True)
        sys.exit(2)

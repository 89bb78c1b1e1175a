"""The ``polyseme`` command."""

import io
import os
import sys
from itertools import pairwise
from typing import Annotated, Any, NoReturn

import typer

import polyseme
from polyseme.cli import (
    change,
    compare,
    convert,
    cove,
    demo,
    embed,
    evaluate,
    explore,
    index,
    info,
    probe,
    score,
    senses,
    serve,
    similar,
    substitutes,
    task,
    train,
    words,
)
from polyseme.cli.settings_options import ServeSettingsCommand, SettingsCommand
from polyseme.errors import PolysemeError
from polyseme.files.plain_words import in_plain_words

# Typer contains a copy of click, and does not export its base class for wrong usage; this is how to get at it.
_UsageError: Any = typer.BadParameter.__base__
app = typer.Typer(
    name="polyseme",
    help="Contextual word vectors (ELMo) that anyone can load, run and look into.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # "rich" would read a word in brackets as a style and drop it
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("embed")(embed.embed)
app.command("info")(info.info)
app.command("convert")(convert.convert)
app.command("train", cls=SettingsCommand)(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("score")(score.score)
app.command("substitutes")(substitutes.substitutes)
app.command("index")(index.index)
app.command("nearest")(index.nearest)
app.command("similar")(similar.similar)
app.command("compare")(compare.compare)
app.add_typer(senses.app, name="senses")
app.command("change")(change.change)
app.command("words")(words.words)
app.command("probe")(probe.probe)
app.add_typer(cove.app, name="cove")
app.add_typer(task.app, name="task")
app.command("serve", cls=ServeSettingsCommand)(serve.serve)
app.command("explore")(explore.explore)
app.command("demo")(demo.demo)


_MISSING = {
    "model": "; give a bundled model (polyseme info lists them) or the path of another",
    "output": "; name what to write, such as -o NAME",
}
"""What can be given where nothing was, by the name of the parameter."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"polyseme {polyseme.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Contextual word vectors (ELMo) that anyone can load, run and look into."""


def main() -> None:
    """Run a command; the exit code is 0, or 2 after one line that says what is wrong."""
    # Threads of torch that wait for each other sleep: if they turn in circles beside other busy programs, none gets on.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if isinstance(sys.stdout, io.TextIOWrapper):  # escape what an old terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(_arguments(sys.argv[1:]), standalone_mode=False))
    except _UsageError as error:
        message = in_plain_words(error.format_message()).rstrip(".?").replace(". Did you mean", "; did you mean")
        if not message:  # no command was given, and the help was printed
            sys.exit(2)
        command = error.ctx.command_path if error.ctx else "polyseme"
        _leave(f"{message}{_got(error)}{_hint(error)}; see {command} --help")
    except typer.Abort:
        sys.exit(130)
    except PolysemeError as error:
        _leave(f"{error}{_hint_of_csv()}")
    except OSError as error:  # a path that the system refuses: a name too long, a folder without permission
        _leave(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        _leave("not enough memory; try a smaller --batch-tokens, or a machine with more")


def _arguments(given: list[str]) -> list[str]:
    """The arguments, with ``help`` and ``help COMMAND`` as other programs have it."""
    return [*given[1:], "--help"] if given[:1] == ["help"] else given


def _got(error: Any) -> str:
    """The value of the option that an error is about, if the message does not contain it."""
    options = getattr(getattr(error, "param", None), "opts", ())
    for one, after in pairwise(sys.argv):
        if one.startswith("-") and one in options and after not in error.format_message():
            return f"; got {after!r}"
    return ""


def _hint(error: Any) -> str:
    """What can be given where nothing was, or how what is too much is put together."""
    if error.ctx and error.ctx.info_name in ("nearest", "substitutes") and "unexpected extra arg" in str(error.message):
        return "; put the sentence in quotes"
    if type(error).__name__ != "MissingParameter":
        return ""
    return _MISSING.get(getattr(error.param, "name", None) or "", "")


def _hint_of_csv() -> str:
    """For somebody who named a file after --csv, which takes none."""
    for one, after in pairwise(sys.argv):
        if one == "--csv" and after.endswith((".csv", ".tsv")):
            return f"; --csv takes no file, it prints: write ... --csv > {after}"
    return ""


def _leave(message: str) -> NoReturn:
    typer.echo(f"polyseme: {' '.join(message.splitlines())}", err=True)
    sys.exit(2)

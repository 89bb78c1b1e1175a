"""How a command shows its job on standard error, and leaves when it is interrupted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from polyseme.errors import InputError, Interrupted
from polyseme.progress import ProgressKind, TokenCounter, Watcher, open_watcher

Advance = Callable[[int, float | None], None]
"""Report so many more tokens, and the share of the whole job that is done, if it is known."""


@contextmanager
def shown(kind: ProgressKind) -> Iterator[Watcher]:
    """Show a job on standard error; if it is interrupted, leave with one line and the exit code of the signal."""
    try:
        with open_watcher(kind, sys.stderr) as watcher:
            yield watcher
    except Interrupted as stopped:
        typer.echo(f"polyseme: {stopped}", err=True)
        raise typer.Exit(128 + stopped.number) from None


@contextmanager
def counting_tokens(kind: ProgressKind, stage: str) -> Iterator[Advance]:
    """Show a job that reports the tokens it has done through a function."""
    with shown(kind) as watcher:
        yield TokenCounter(watcher, stage).add


@contextmanager
def resumable(output: Path, *, resume: bool) -> Iterator[None]:
    """Say what a job that keeps its work in ``OUTPUT.partial`` finds there at first, and leaves there if it stops."""
    partial = output.with_name(f"{output.name}.partial") if output.name else output
    if resume and not partial.exists():
        typer.echo(f"polyseme: {partial}: there is nothing to resume; starting from the beginning", err=True)
    try:
        yield
    except KeyboardInterrupt:
        kept = (
            f"what was done is in {partial}: continue with --resume" if partial.exists() else "nothing was stored yet"
        )
        typer.echo(f"polyseme: interrupted; {kept}", err=True)
        raise
    except InputError as error:
        if partial.exists() and str(partial) not in str(error):
            raise InputError(f"{error}; what was done before is in {partial}: delete it to begin again") from error
        raise

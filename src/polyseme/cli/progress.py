"""How a command shows its job on standard error, and leaves when it is interrupted."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from polyseme.errors import Interrupted
from polyseme.progress import ProgressKind, Watcher, open_watcher


@contextmanager
def shown(kind: ProgressKind) -> Iterator[Watcher]:
    """Show a job on standard error; if it is interrupted, leave as `leaving` does."""
    with leaving(), open_watcher(kind, sys.stderr) as watcher:
        yield watcher


@contextmanager
def leaving() -> Iterator[None]:
    """If a job is interrupted, leave with one line and the exit code of the signal."""
    try:
        yield
    except Interrupted as stopped:
        typer.echo(f"polyseme: {stopped}", err=True)
        raise typer.Exit(128 + stopped.number) from None

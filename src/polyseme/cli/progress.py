"""Progress of a long job: a bar with an ETA on a terminal, plain lines elsewhere; always on standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from polyseme.errors import InputError, Interrupted
from polyseme.progress import ProgressKind, Watcher, open_watcher

Advance = Callable[[int, float | None], None]
"""Report so many more tokens, and the share of the whole job done so far where it is known."""

_TELLING = 0.01  # the share from which on it says how long the rest takes: what starts slowly would promise days
PLAIN_SECONDS = 10.0


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
def progress(label: str) -> Iterator[Advance]:
    """Show how a job over tokens goes."""
    with _bar(label) if sys.stderr.isatty() else _lines(label) as advance:
        yield advance


@contextmanager
def resumable(output: Path, *, resume: bool) -> Iterator[None]:
    """Say of a job that keeps its work in ``OUTPUT.partial`` what is there when it begins and when it is stopped."""
    partial = output.with_name(f"{output.name}.partial") if output.name else output
    if resume and not partial.exists():
        sys.stderr.write(f"polyseme: {partial}: nothing is there to resume; beginning anew\n")
    try:
        yield
    except KeyboardInterrupt:
        kept = f"what was done is in {partial}: go on with --resume" if partial.exists() else "nothing was stored yet"
        sys.stderr.write(f"polyseme: interrupted; {kept}\n")
        raise
    except InputError as error:
        if partial.exists() and str(partial) not in str(error):
            raise InputError(f"{error}; what was done before is in {partial}: remove it to begin anew") from error
        raise


@contextmanager
def _bar(label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),  # a file's name may hold brackets
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    tokens, begun = 0, time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300) as bar:
        task = bar.add_task(label, total=None, rate="")

        def advance(more: int, share: float | None) -> None:
            nonlocal tokens
            tokens += more
            rate = tokens / max(time.monotonic() - begun, 1e-9)
            if share is None:
                bar.update(task, rate=f"{tokens:,} tokens, {rate:,.0f}/s")
            else:
                bar.update(task, total=1.0, completed=share, rate=f"{rate:,.0f} tokens/s")

        yield advance


@contextmanager
def _lines(label: str) -> Iterator[Advance]:
    tokens, begun = 0, time.monotonic()
    shown = begun

    def advance(more: int, share: float | None) -> None:
        nonlocal tokens, shown
        tokens += more
        now = time.monotonic()
        if now - shown < PLAIN_SECONDS:
            return
        shown = now
        line = f"{label}: {tokens:,} tokens, {tokens / (now - begun):,.0f}/s"
        if share and share >= _TELLING:
            line += f", {share:.0%}, {(now - begun) * (1 - share) / share:,.0f} s left"
        sys.stderr.write(line + "\n")

    yield advance

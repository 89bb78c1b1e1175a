"""Chooses the watcher of a job: for a terminal, a notebook, a log or a program."""

import contextlib
import os
from collections.abc import Iterator
from typing import Literal, TextIO, get_args

from polyseme.progress.notebook import NotebookBar, in_notebook
from polyseme.progress.watcher import Watcher

ProgressKind = Literal["auto", "bar", "lines", "json", "none"]
"""A bar, plain lines, JSON lines, or nothing; auto is a bar on a terminal and plain lines elsewhere."""
PROGRESS: tuple[ProgressKind, ...] = get_args(ProgressKind)


def open_watcher(kind: ProgressKind, stream: TextIO) -> Watcher:
    """A watcher that draws on a stream.

    If several processes train one model, only the first one prints.
    """
    from polyseme.progress.lines import JsonLines, PlainLines

    if kind == "none" or os.environ.get("RANK", "0") != "0":
        return Watcher()
    if kind == "json":
        return JsonLines(stream)
    if kind == "lines" or (kind == "auto" and not stream.isatty()):
        return PlainLines(stream)
    from polyseme.progress.bar import TerminalBar

    return TerminalBar(stream)


def default_watcher() -> Watcher:
    """The watcher of a job that was called from Python without one: a bar in a notebook, elsewhere nothing."""
    return NotebookBar() if in_notebook() else Watcher()


@contextlib.contextmanager
def watching(watcher: Watcher | None) -> Iterator[Watcher]:
    """The watcher given to a job, which the caller closes, or else the default one, which is closed with the job."""
    if watcher is not None:
        yield watcher
        return
    with default_watcher() as default:
        yield default

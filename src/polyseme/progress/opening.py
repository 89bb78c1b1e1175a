"""Which watcher shows a job, given where it runs."""

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

    Of several processes that train one model only the first speaks.
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
    """What shows a job that was called from Python without a watcher: a bar in a notebook, elsewhere nothing."""
    return NotebookBar() if in_notebook() else Watcher()


@contextlib.contextmanager
def watching(watcher: Watcher | None) -> Iterator[Watcher]:
    """The watcher that a job was given, which its owner closes, or else the default one, closed with the job."""
    if watcher is not None:
        yield watcher
        return
    with default_watcher() as default:
        yield default

"""Progress as a bar on a terminal."""

from collections.abc import Mapping
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from polyseme.progress.figures import Clock, shown_figures, shown_time
from polyseme.progress.watcher import Figure, Watcher


class TerminalBar(Watcher):
    """Draws a bar with figures and the remaining time; it disappears at the end, results and notes stay."""

    def __init__(self, stream: TextIO) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),  # the name of a file may contain brackets
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
        )
        # Results go to standard output while the bar is drawn; rich would print them where the bar is.
        self._bar = Progress(*columns, console=Console(file=stream), transient=True, redirect_stdout=False)
        self._task = self._bar.add_task("", total=None, figures="", visible=False)
        self._clock = Clock()
        self._bar.start()

    def begin(self, stage: str) -> None:
        """See `Watcher`."""
        self._clock = Clock()
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(stage, total=None, figures="")

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        left = self._clock.left(share)
        text = shown_figures(figures) + ("" if left is None else f", {shown_time(left)} left")
        self._bar.update(self._task, total=None if share is None else 1.0, completed=share, figures=text)

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        self.note(f"{what}: {shown_figures(figures)}")

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._bar.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        """See `Watcher`."""
        self._bar.stop()

"""Progress as a bar below a cell of a Jupyter notebook."""

import html
import sys
import time
from collections.abc import Mapping
from typing import Protocol, cast

from polyseme.progress.figures import Clock, shown_figures, shown_time
from polyseme.progress.watcher import Figure, Watcher

_DELAY = 1.0
"""Seconds before a bar appears, since short jobs need none."""
_SECONDS = 0.5
"""Seconds between two updates of the bar."""


class _Display(Protocol):
    """The interface of IPython's handle of a display that can be updated."""

    def update(self, thing: object) -> None:
        """Show another object instead."""


def in_notebook() -> bool:
    """Whether this is a cell of a Jupyter notebook, and not a terminal or a script."""
    ipython = sys.modules.get("IPython")
    shell = getattr(ipython, "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class NotebookBar(Watcher):
    """Draws a bar once a job has taken a second; results and notes stay below it."""

    def __init__(self) -> None:
        self._begun = self._drawn = time.monotonic()
        self._clock = Clock()
        self._stage = self._figures = ""
        self._share: float | None = None
        self._kept: list[str] = []
        self._display: _Display | None = None

    def begin(self, stage: str) -> None:
        """See `Watcher`."""
        self._clock, self._stage, self._share, self._figures = Clock(), stage, None, ""

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        left = self._clock.left(share)
        self._share = share
        self._figures = shown_figures(figures) + ("" if left is None else f", {shown_time(left)} left")
        now = time.monotonic()
        if now - self._begun >= _DELAY and now - self._drawn >= _SECONDS:
            self._draw()

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        self.note(f"{what}: {shown_figures(figures)}")

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._kept.append(text)
        self._draw()

    def close(self) -> None:
        """See `Watcher`."""
        if self._display is not None:
            self._stage = self._figures = ""
            self._draw()

    def _draw(self) -> None:
        from IPython.display import HTML, display

        self._drawn = time.monotonic()
        picture = HTML(self._html())
        if self._display is None:
            self._display = cast("_Display", display(picture, display_id=True))
        else:
            self._display.update(picture)

    def _html(self) -> str:
        lines = "".join(f"<div>{html.escape(text)}</div>" for text in self._kept)
        if not self._stage:
            return lines
        value = "" if self._share is None else f' value="{self._share:.4f}"'
        share = "" if self._share is None else f" {self._share:.0%}"
        label, figures = html.escape(self._stage), html.escape(self._figures)
        return f"{lines}<div>{label} <progress{value}></progress>{share} <small>{figures}</small></div>"

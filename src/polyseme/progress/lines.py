"""Progress as plain lines, for logs and pipes, and as JSON lines, for programs."""

import json
import time
from collections.abc import Mapping
from typing import TextIO

from polyseme.progress.figures import Clock, shown_figures, shown_time
from polyseme.progress.watcher import Figure, Watcher

SECONDS = 10.0
"""Seconds between two lines about the same stage."""


class PlainLines(Watcher):
    """Writes a line about a stage every ten seconds, and every result and note at once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._clock = Clock()
        self._written = time.monotonic()

    def begin(self, stage: str) -> None:
        """See `Watcher`."""
        self._stage, self._clock, self._written = stage, Clock(), time.monotonic()

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        left = self._clock.left(share)
        if time.monotonic() - self._written < SECONDS:
            return
        self._written = time.monotonic()
        parts = [shown_figures(figures)] if figures else []
        parts += [] if share is None else [f"{share:.0%}"]
        parts += [] if left is None else [f"{shown_time(left)} left"]
        self._write(f"{self._stage}: {', '.join(parts)}")

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        self._write(f"{what}: {shown_figures(figures)}")

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._write(text)

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class JsonLines(Watcher):
    """Writes one JSON object per line: ``event`` is begin, step, result, note or end.

    A step is written at most once a second, and the last one of a stage always; ``seconds`` count from the beginning of
    the stage, and ``seconds_left`` is null until there is an estimate.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._clock = Clock()
        self._written = 0.0
        self._held: dict[str, object] | None = None  # a step that came too soon after the last

    def begin(self, stage: str) -> None:
        """See `Watcher`."""
        self._write({"event": "begin", "stage": stage})
        self._stage, self._clock, self._written = stage, Clock(), 0.0

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        left = self._clock.left(share)
        times = {"seconds": round(self._clock.seconds(), 3), "seconds_left": None if left is None else round(left, 1)}
        step: dict[str, object] = {
            "event": "step",
            "stage": self._stage,
            "share": share,
            **times,
            "figures": dict(figures),
        }
        if time.monotonic() - self._written < 1.0:
            self._held = step
            return
        self._written, self._held = time.monotonic(), None
        self._write(step)

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """See `Watcher`."""
        self._write({"event": "result", "stage": self._stage, "what": what, "figures": dict(figures)})

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._write({"event": "note", "text": text})

    def close(self) -> None:
        """See `Watcher`."""
        self._write({"event": "end"})

    def _write(self, record: Mapping[str, object]) -> None:
        for one in (record,) if self._held is None else (self._held, record):
            self._stream.write(json.dumps(one, ensure_ascii=False) + "\n")
        self._held = None
        self._stream.flush()

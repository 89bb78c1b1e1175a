"""Figures and times as readable text."""

import math
import time
from collections.abc import Mapping

from polyseme.progress.watcher import Figure

_EARLIEST_SHARE = 0.01
_EARLIEST_SECONDS = 2.0


class Clock:
    """Estimates how long the rest of a stage takes.

    A stage that starts slowly, or is resumed in the middle, would give absurd estimates: only work since the first
    share that was told counts, and there is no estimate before a hundredth of the rest and two seconds have passed.
    """

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self._first: tuple[float, float] | None = None  # the first share that was told, and when

    def seconds(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self.begun

    def left(self, share: float | None) -> float | None:
        """Seconds to the end of the stage; None if there is no estimate yet."""
        if share is None:
            return None
        if self._first is None:
            self._first = share, self.seconds()
        done, elapsed = share - self._first[0], self.seconds() - self._first[1]
        if done < _EARLIEST_SHARE * (1 - self._first[0]) or elapsed < _EARLIEST_SECONDS:
            return None
        return elapsed * (1 - share) / done if done > 0 else None


def shown_figures(figures: Mapping[str, Figure]) -> str:
    """Figures on one line.

    Example:
        >>> shown_figures({"epoch": 1.25, "tokens": 12345, "tokens/s": 2713.4, "loss": 5.12345, "rate": 0.00123})
        'epoch 1.25, 12,345 tokens, 2,713 tokens/s, loss 5.123, rate 0.00123'
        >>> shown_figures({"update": 7, "labels": 1, "sentences": 2, "seconds": 51.82})
        'update 7, 1 label, 2 sentences, 51.8 seconds'
    """
    return ", ".join(_shown(name, value) for name, value in figures.items())


def shown_time(seconds: float) -> str:
    """A time span.

    Example:
        >>> [shown_time(seconds) for seconds in (7, 125, 3 * 3600 + 240)]
        ['7s', '2m05s', '3h04m']
    """
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    Example:
        >>> [counted(1, "sentence"), counted(12345, "sentence"), counted(1, "index", "indices")]
        ['1 sentence', '12,345 sentences', '1 index']
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _shown(name: str, value: Figure) -> str:
    """Put the number before the name for counts and speeds, after it for other figures."""
    if isinstance(value, str):
        return f"{name} {value}"
    if name == "update":  # which one, not how many
        return f"{name} {value:,}"
    if name == "seconds":
        return f"{value:,.1f} {name}"
    if isinstance(value, int):
        return counted(value, name.removesuffix("s"), name)
    if name.endswith("/s"):
        return f"{value:,.0f} {name}"
    return f"{name} {value:,.2f}" if abs(value) >= 100 or name == "epoch" else f"{name} {value:.4g}"

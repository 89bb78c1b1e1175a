"""What ``polyseme train`` shows: a bar with an ETA on a terminal, plain lines elsewhere; always on standard error."""

import os
import sys
import time
from types import TracebackType
from typing import Any

from polyseme.train.engine.watcher import Step, Watcher
from polyseme.train.lm.evaluate import Perplexity

PLAIN_SECONDS = 10.0


class TrainingDisplay(Watcher):
    """Shows a run to a person. Of several processes only the first speaks."""

    def __init__(self) -> None:
        self.spoke = int(os.environ.get("RANK", "0")) == 0
        self._bar: Any = None
        self._task: Any = None
        self._shown = time.monotonic()
        self._tokens = 0

    def __enter__(self) -> "TrainingDisplay":
        if self.spoke and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (BarColumn(bar_width=20), TaskProgressColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=1.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def counting(self, tokens: int, share: float | None) -> None:
        """See `Watcher`."""
        self._tokens += tokens
        self._show(f"counting: {self._tokens:,} tokens", share)

    def counted(self, facts: dict[str, int | float]) -> None:
        """See `Watcher`."""
        self._line(
            f"{facts['training_tokens']:,} tokens in {facts['training_sentences']:,} sentences, "
            f"{facts['types']:,} distinct words; predicting {facts['vocabulary']:,} words, "
            f"{facts['unknown_share']:.2%} of tokens are <UNK>; held out: {facts['heldout_tokens']:,} tokens"
        )

    def step(self, step: Step) -> None:
        """See `Watcher`."""
        self._show(
            f"epoch {step.epoch:.2f}, update {step.update:,}, {step.loss_name} loss {step.loss:.3f}, "
            f"{step.tokens_per_second:,.0f} tokens/s, {_time(step.seconds_left)} left",
            step.share,
        )

    def evaluated(self, perplexity: Perplexity, *, update: int, best: bool) -> None:
        """See `Watcher`."""
        self._line(
            f"update {update:,}: held-out perplexity (full softmax) forward {perplexity.forward:.2f}, "
            f"backward {perplexity.backward:.2f}, average {perplexity.average:.2f}{', best so far' if best else ''}"
        )

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._line(text)

    def _show(self, text: str, share: float | None) -> None:
        if self._bar:
            self._bar.update(self._task, description=text, completed=share or 0.0)
        elif self.spoke and time.monotonic() - self._shown >= PLAIN_SECONDS:
            self._shown = time.monotonic()
            sys.stderr.write(f"{text}{'' if share is None else f', {share:.0%}'}\n")

    def _line(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(text, highlight=False, markup=False)
        elif self.spoke:
            sys.stderr.write(text + "\n")


def _time(seconds: float) -> str:
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"

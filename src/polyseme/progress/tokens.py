"""Counts tokens for a watcher."""

import time

from polyseme.progress.watcher import Figure, Watcher


class TokenCounter:
    """Counts the tokens of one stage and reports them to a watcher, with their speed.

    Args:
        watcher: The watcher to report to.
        stage: The name of the stage, such as "embedding news.txt".
    """

    def __init__(self, watcher: Watcher, stage: str) -> None:
        self._watcher = watcher
        self._begun = time.monotonic()
        self.tokens = 0
        watcher.begin(stage)

    def add(self, tokens: int, share: float | None, **figures: Figure) -> None:
        """Report that this many more tokens are done, and this share of the whole stage."""
        self.tokens += tokens
        speed = self.tokens / max(time.monotonic() - self._begun, 1e-9)
        self._watcher.step(share, {"tokens": self.tokens, "tokens/s": speed, **figures})

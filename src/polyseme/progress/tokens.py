"""Counting tokens for a watcher."""

import time

from polyseme.progress.watcher import Figure, Watcher


class TokenCounter:
    """Adds up the tokens of one stage and tells a watcher about them, with their speed.

    Args:
        watcher: Who is told.
        stage: What begins, such as "embedding news.txt".
    """

    def __init__(self, watcher: Watcher, stage: str) -> None:
        self._watcher = watcher
        self._begun = time.monotonic()
        self.tokens = 0
        watcher.begin(stage)

    def add(self, tokens: int, share: float | None, **figures: Figure) -> None:
        """So many more tokens are done, and this share of the whole stage."""
        self.tokens += tokens
        speed = self.tokens / max(time.monotonic() - self._begun, 1e-9)
        self._watcher.step(share, {"tokens": self.tokens, "tokens/s": speed, **figures})

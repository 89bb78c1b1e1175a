"""What a person is told of a run; the command line shows it, a program may ignore it."""

from dataclasses import dataclass

from polyseme.train.lm.evaluate import Perplexity


@dataclass(frozen=True)
class Step:
    """An update, as it is shown."""

    update: int
    epoch: float
    share: float
    """Of the whole run."""
    loss_name: str
    """Which loss this is: full, sampled or adaptive."""
    loss: float
    """Mean of the last updates, in nats a prediction, over both directions."""
    rate: float
    tokens_per_second: float
    seconds_left: float


class Watcher:
    """Told what happens; does nothing of itself."""

    def counting(self, tokens: int, share: float | None) -> None:
        """So many more tokens were read and counted, this share of the corpus."""

    def counted(self, facts: dict[str, int | float]) -> None:
        """The corpus is counted and split."""

    def step(self, step: Step) -> None:
        """An update was made."""

    def evaluated(self, perplexity: Perplexity, *, update: int, best: bool) -> None:
        """The held-out text was measured."""

    def note(self, text: str) -> None:
        """Something a person should know."""

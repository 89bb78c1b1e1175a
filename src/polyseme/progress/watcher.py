"""The interface through which a job reports its progress."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

Figure = int | float | str
"""A number or a word about a job."""


class Watcher:
    """Receives the progress of a job and shows nothing; subclasses show it.

    Use it as a context manager, so that the display ends with the job.
    """

    def begin(self, stage: str) -> None:
        """A stage of the job begins, such as "embedding news.txt"; time and share count from here."""

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """Some work is done.

        Args:
            share: The share of this stage that is done, from 0 to 1; None if it is not known.
            figures: Figures by name; totals of this stage, not differences.
        """

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """There is an intermediate result that should stay visible, such as a perplexity."""

    def note(self, text: str) -> None:
        """There is something that the user should know."""

    def close(self) -> None:
        """The job is over."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""What a job tells about itself, and to whom."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

Figure = int | float | str
"""A number or a word about a job."""


class Watcher:
    """Is told how a job goes, and keeps it to itself; subclasses show it.

    Use it as a context manager, so that what is drawn ends with the job.
    """

    def begin(self, stage: str) -> None:
        """A stage of the job begins, such as "embedding news.txt"; time and share count from here."""

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """Some work is done.

        Args:
            share: How much of this stage is done, from 0 to 1; None where nobody can tell.
            figures: What there is to say, by name; totals of this stage, not differences.
        """

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """Something was measured on the way that stays on view, such as a perplexity."""

    def note(self, text: str) -> None:
        """Something that a person should know."""

    def close(self) -> None:
        """The job is over."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""Counts what was mended or left out while data was read, so that it can be told."""

from collections.abc import Iterator

from polyseme.files.whole import JSON
from polyseme.text.repairs import Repairs

BROKEN_TAG = "tags that continue nothing (I- after O or another type), read as B-"
NO_GOLD_LABEL = "pairs without a gold label (-), left out"
NEUTRAL = "neutral texts, left out of two classes"
EMPTY_TEXT = "texts without a token, left out"
EMPTY_DOCUMENT = "documents without a token, left out"
UNCLOSED_SPAN = "spans past the end of their sentence, ended there"
UNPAIRED_MENTION = "mentions with one border only, left out"
DOUBLE_MENTION = "mentions marked twice, read once"
TWO_CLUSTERS = "mentions in two clusters, kept in the first"
EMPTY_TOKEN = "tokens without a character, read as U+FFFD"
WITHHELD = "documents whose words are withheld (___), left out"
CUT_DOCUMENT = "documents without marked sentences, cut after . ! ?"
MOVED_ANSWER = "answers not where they are said to be, moved to the nearest place with their text"
LOST_ANSWER = "answers not in their passage, left out"
INSIDE_TOKEN = "answers that begin or end inside a token, kept"
NO_ANSWER = "questions without an answer in their passage, left out"


class DataRepairs:
    """How often each repair was made, and where first; false if none was.

    Attributes:
        text: What was not UTF-8.

    Example:
        >>> repairs = DataRepairs()
        >>> repairs.count(BROKEN_TAG, "ner.conll:12")
        >>> print(repairs)
        tags that continue nothing (I- after O or another type), read as B-: 1, the first at ner.conll:12
    """

    def __init__(self) -> None:
        self.text = Repairs()
        self._found: dict[str, tuple[int, str]] = {}

    def count(self, what: str, place: str) -> None:
        """Count one repair, at ``file:line``."""
        times, first = self._found.get(what, (0, place))
        self._found[what] = times + 1, first

    def __getitem__(self, what: str) -> int:
        return self._found.get(what, (0, ""))[0]

    def __bool__(self) -> bool:
        return bool(self._found) or bool(self.text)

    def lines(self) -> Iterator[str]:
        """One line for each kind of repair."""
        for what, (times, first) in self._found.items():
            yield f"{what}: {times:,}, the first at {first}"
        if self.text:
            yield str(self.text)

    def __str__(self) -> str:
        return "; ".join(self.lines()) or "nothing repaired"

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it: the number of each repair."""
        found: dict[str, JSON] = {what: times for what, (times, _) in self._found.items()}
        return found | ({str(self.text): self.text.invalid + self.text.nulls} if self.text else {})

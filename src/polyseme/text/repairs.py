"""Counts what was repaired in a text, and what is odd in it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

LONG_TOKEN = 1000
"""Characters. Longer tokens are counted as odd: no word is so long, and a model reads its first 50 characters."""
LONG_LINE = 1_000_000
"""Characters. Longer lines are counted as odd: no sentence is so long."""
_MUCH = 0.05  # of the characters, if it is more than a few
_FEW = 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_A_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_PERHAPS_EMPTY = re.compile(f"[{_INVISIBLE}]")
_EMPTY = re.compile(f"[{_INVISIBLE}]*")


@dataclass(slots=True)
class Repairs:
    """Counts what was replaced by U+FFFD because it is not text, and what is odd; false if nothing was.

    Example:
        >>> str(Repairs(invalid=3, nulls=1, first="news.txt:12"))
        '3 invalid UTF-8 sequences and 1 NUL replaced by U+FFFD, the first at news.txt:12'
    """

    invalid: int = 0
    """Number of byte sequences that are not UTF-8."""
    nulls: int = 0
    """Number of NUL characters."""
    first: str | None = None
    """The position of the first replacement, as ``file:line``."""
    characters: int = field(default=0, compare=False)
    """How many characters were read, the replaced ones included."""
    odd: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What is odd: how often, and where it was first seen."""

    def __bool__(self) -> bool:
        return self.first is not None or bool(self.odd)

    def __str__(self) -> str:
        counts = ((self.invalid, "invalid UTF-8 sequence"), (self.nulls, "NUL"))
        parts = [f"{count:,} {what}{'s' * (count > 1)}" for count, what in counts if count]
        told = [f"{' and '.join(parts)} replaced by U+FFFD, the first at {self.first}{self._share()}"] if parts else []
        told += [f"{what}: {times:,}, the first at {place}" for what, (times, place) in self.odd.items()]
        return "; ".join(told) or "nothing replaced"

    def _share(self) -> str:
        share = (self.invalid + self.nulls) / self.characters if self.characters else 0.0
        if share < _MUCH or self.invalid + self.nulls < _FEW:
            return ""
        return f" ({share:.0%} of the text: it is damaged or in another encoding, convert it to UTF-8)"

    def count(self, what: str, place: str, times: int = 1) -> None:
        """Count something odd."""
        before, first = self.odd.get(what, (0, place))
        self.odd[what] = before + times, first

    def judge(self, tokens: Sequence[str], place: str) -> None:
        """Count the odd tokens of a sentence."""
        if tokens and max(map(len, tokens)) > LONG_TOKEN:
            long = sum(len(token) > LONG_TOKEN for token in tokens)
            self.count(f"tokens of more than {LONG_TOKEN:,} characters", place, long)
        if "" in tokens or _PERHAPS_EMPTY.search("".join(tokens)):
            empty = sum(_EMPTY.fullmatch(token) is not None for token in tokens)
            if empty:
                self.count("tokens without a visible character", place, empty)

    def mend(self, text: str, place: str) -> str:
        """Replace and count NULs and lone surrogates (which stand for bytes that could not be decoded)."""
        if "\0" not in text and (text.isascii() or not _SURROGATE.search(text)):
            return text
        # The original bytes are decoded again because several of them may form one invalid sequence.
        original = _NOT_A_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape")
        mended = original.decode("utf-8", "replace").replace("\0", "\ufffd")
        nulls = text.count("\0")
        self.nulls += nulls
        self.invalid += mended.count("\ufffd") - text.count("\ufffd") - nulls
        self.first = self.first or place
        return mended

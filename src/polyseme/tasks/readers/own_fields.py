"""The values of one record of a user's own data, checked as they are asked for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from polyseme.errors import InputError
from polyseme.tasks.examples import Tokens
from polyseme.tasks.readers.json_values import are_strings
from polyseme.tasks.readers.reading import Reading


@dataclass(frozen=True)
class Fields:
    """A record: a line of a table, or an object of JSON.

    Attributes:
        record: Its values by the names of the file.
        reading: The file.
    """

    record: Mapping[str, object]
    reading: Reading

    def name(self, field: str) -> str:
        """What the file calls one of our columns."""
        return self.reading.options.columns.get(field, field)

    def has(self, field: str) -> bool:
        """Whether the record has a value for one of our columns."""
        return self.record.get(self.name(field)) is not None

    def value(self, field: str) -> object:
        """The value of one of our columns.

        Raises:
            InputError: There is none; the message names the columns there are.
        """
        if not self.has(field):
            there = ", ".join(map(repr, self.record))
            raise InputError(
                f"{self.reading.place}: no column {self.name(field)!r}; there are {there[:120] or 'none'}: say which "
                f"of them is the {field}, as --columns {self._as_option(field)}"
            )
        return self.record[self.name(field)]

    def _as_option(self, field: str) -> str:
        """What a user would write to name the column of a field: with its name if the columns leave one choice."""
        options = self.reading.options
        both = field == "text" and options.labelled and not self.has("label")
        wanted = [field, "label"] if both else [field]
        free = [name for name in self.record if name not in (*options.columns.values(), self.name("label"))]
        free.sort(key=lambda name: -len(str(self.record[name])))  # a text is longer than its label
        names = free if len(free) == len(wanted) else [f"NAME{number}" for number in range(1, len(wanted) + 1)]
        return ",".join(f"{ours}={theirs}" for ours, theirs in zip(wanted, names, strict=True))

    def string(self, field: str) -> str:
        """A value that is a string."""
        value = self.value(field)
        if not isinstance(value, str):
            raise self.wrong(field, "a string")
        return self.reading.mended(value)

    def label(self) -> str | None:
        """The label, also if it is written as a number; None if it is not known and need not be."""
        if not self.has("label") and not self.reading.options.labelled:
            return None
        value = self.value("label")
        if isinstance(value, str | int | float) and str(value).strip():
            return self.reading.mended(str(value).strip())
        if value == "" and not self.reading.options.labelled:
            return None
        raise self.wrong("label", "a string or a number that is not empty")

    def listed(self, field: str) -> object:
        """A value that JSON holds, also as a string of JSON."""
        value = self.value(field)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise self.wrong(field, "a list as JSON writes it") from None

    def tokens(self, field: str) -> Tokens:
        """A list of tokens or tags, or a string with spaces between them."""
        value = self.value(field)
        if isinstance(value, str):
            if not value.lstrip().startswith("["):
                return tuple(self.reading.mended(value).split())
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return tuple(self.reading.mended(str(value)).split())  # a token may be a bracket
        if not are_strings(value):
            raise self.wrong(field, "a list of strings that are not empty")
        return tuple(map(self.reading.mended, value))

    def raw_or_tokens(self, field: str) -> Tokens:
        """Raw text, which is split, or a list of tokens."""
        value = self.value(field)
        return self.reading.tokens(value) if isinstance(value, str) else self.tokens(field)

    def text_or_tokens(self) -> Tokens:
        """The tokens of the column ``tokens``, or else of the raw ``text``."""
        return self.tokens("tokens") if self.has("tokens") else self.reading.tokens(self.string("text"))

    def wrong(self, field: str, expected: str) -> InputError:
        """The error for a value that is something else."""
        shown = str(self.record.get(self.name(field)))[:40]
        return InputError(f"{self.reading.place}: {self.name(field)!r} is {shown!r}, but {expected} is expected")

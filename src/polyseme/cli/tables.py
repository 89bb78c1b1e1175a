"""How a command gives its results: a table for people, CSV or JSON for programs, always with the same values.

JSON is one object: ``command``, what is true of the whole (the model, counts, seconds), and ``results``, a list with
one object per row of the table. Numbers are rounded for people only; a number that is infinite or undefined is null.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import typer

from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.files.whole import JSON

Form: TypeAlias = Literal["text", "json", "csv"]
Row: TypeAlias = "Mapping[str, JSON]"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: In CSV and JSON.
        width: Terminal columns; text is padded on the right, numbers on the left. What is longer gets one space.
        numbers: How numbers are shown to people, as a format; empty for text.
        title: Above the column; by default its name.
    """

    name: str
    width: int = 24
    numbers: str = ""
    title: str | None = None


@dataclass(frozen=True)
class Table:
    """Rows with the values of some columns; a row may have more, which only JSON shows."""

    columns: Sequence[Column]
    rows: Sequence[Row]

    def lines(self) -> Iterator[str]:
        """The table for people, line by line."""
        yield text_head(self.columns)
        for row in self.rows:
            yield text_row(self.columns, row)


def form_of(as_json: bool, as_csv: bool) -> Form:
    """The form that ``--json`` and ``--csv`` choose."""
    if as_json and as_csv:
        raise InputError("--json and --csv are two forms of the same results; give one of them")
    return "json" if as_json else "csv" if as_csv else "text"


def print_results(form: Form, command: str, facts: Row, table: Table) -> None:
    """Print a table as CSV, as JSON with facts about the whole, or for people."""
    if form == "json":
        print_json(command, {**facts, "results": [dict(row) for row in table.rows]})
    elif form == "csv":
        print_csv(table.columns, table.rows)
    else:
        for line in table.lines():
            typer.echo(line)


def print_json(command: str, facts: Row) -> None:
    """Print one JSON object that begins with the name of the command."""
    typer.echo(json_line({"command": command, **facts}))


def json_line(record: Row) -> str:
    """A JSON object in one line."""
    return json.dumps(_finite(dict(record)), ensure_ascii=False)


def print_csv(columns: Sequence[Column], rows: Iterable[Row], *, head: bool = True) -> None:
    """Print rows as CSV, under a line with the names of the columns."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if head:
        writer.writerow([column.name for column in columns])
    writer.writerows([_cell(row.get(column.name)) for column in columns] for row in rows)
    typer.echo(file.getvalue(), nl=False)


def text_head(columns: Sequence[Column]) -> str:
    """The titles above the columns."""
    titles = (column.name if column.title is None else column.title for column in columns)
    return "".join(
        f"{title:>{column.width}}" if column.numbers else padded(title, column.width)
        for title, column in zip(titles, columns, strict=True)
    ).rstrip()


def text_row(columns: Sequence[Column], row: Row) -> str:
    """The values of a row below their titles."""
    return "".join(_shown(column, row.get(column.name)) for column in columns).rstrip()


def padded(text: str, width: int) -> str:
    """Text padded with spaces to this many columns of a terminal; longer text gets one space.

    Example:
        >>> [padded(word, 7) for word in ("曹操", "play", "overflow")]
        ['曹操   ', 'play   ', 'overflow ']
    """
    from rich.cells import cell_len  # a Chinese character takes two columns

    return text + " " * max(1, width - cell_len(text))


def _shown(column: Column, value: "JSON") -> str:
    if not column.numbers:
        return padded("" if value is None else str(value), column.width)
    return " " * column.width if value is None else f"{value:{column.numbers}}".rjust(column.width)


def _cell(value: "JSON") -> str | int | float:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None or isinstance(value, dict) else value


def _finite(value: "JSON") -> "JSON":
    """Standard JSON has no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list) else value

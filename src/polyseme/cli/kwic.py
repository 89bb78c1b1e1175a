"""Keyword in context: occurrences below each other with their words aligned, as in a concordance."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polyseme.cli.tables import Column

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.index.occurrence import Occurrence

COLUMNS = tuple(
    Column(name)
    for name in (
        "left",
        "word",
        "right",
        "similarity",
        "file",
        "line",
        "document",
        "name",
        "label",
        "sentence",
        "position",
    )
)
"""What CSV has of an occurrence in its context."""


def kwic_row(one: "Occurrence", around: int) -> "dict[str, JSON]":
    """An occurrence with at most ``around`` tokens on its left and on its right."""
    left, right = context(one, around)
    return {**one.to_dict(), "left": left, "right": right}


def context(one: "Occurrence", around: int) -> tuple[str, str]:
    """The tokens before and after an occurrence, at most ``around`` on each side."""
    before, after = one.sentence[: one.position], one.sentence[one.position + 1 :]
    return " ".join(before[max(0, len(before) - around) :]), " ".join(after[:around])


def kwic_lines(found: "Sequence[Occurrence]", around: int) -> Iterator[str]:
    """One line for each occurrence: similarity, left context, word, right context, and where the sentence came from.

    Columns are counted as a terminal does: a Chinese character takes two.
    """
    from rich.cells import cell_len

    rows = [(f"{one.similarity:.3f}", *_around(one, around), str(one.place)) for one in found]
    left, word, right = (max(cell_len(row[column]) for row in rows) for column in (1, 2, 3))
    for similarity, before, middle, after, place in rows:
        line = f"{similarity}  {' ' * (left - cell_len(before))}{before}  {middle}{' ' * (word - cell_len(middle))}  "
        yield f"{line}{after}{' ' * (right - cell_len(after))}  {place}".rstrip()


def _around(one: "Occurrence", around: int) -> tuple[str, str, str]:
    left, right = context(one, around)
    return left, one.word, right

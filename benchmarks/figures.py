"""A measured figure, and tables of such figures in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One number.

    Attributes:
        measure: What is measured, above its table.
        of: On what: a row of the table.
        items: On how many items.
        by: By what: a layer or a direction, a column of the table.
        value: The figure.
        low: Lower end of its 95% interval, if there is one.
        high: Upper end.
    """

    measure: str
    of: str
    items: int
    by: str
    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        digits = 1 if self.value > 2 else 3
        between = "" if self.low is None else f" ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{self.value:.{digits}f}{between}"


def tables(figures: Sequence[Figure]) -> str:
    """One table for each measure."""
    return "\n\n".join(
        _table(measure, [one for one in figures if one.measure == measure])
        for measure in dict.fromkeys(one.measure for one in figures)
    )


def _table(measure: str, figures: Sequence[Figure]) -> str:
    columns = list(dict.fromkeys(one.by for one in figures))
    lines = [f"**{measure}**", "", f"| | items | {' | '.join(columns)} |", f"|---|---:|{'---:|' * len(columns)}"]
    for of in dict.fromkeys(one.of for one in figures):
        row = {one.by: one for one in figures if one.of == of}
        items = next(iter(row.values())).items
        lines.append(f"| {of} | {items:,} | {' | '.join(str(row.get(column, '')) for column in columns)} |")
    return "\n".join(lines)


def layer_names(layers: int) -> list[str]:
    """What each layer, and the mean of all, is called above a column."""
    return [*(f"layer {layer}" for layer in range(layers)), "mean of layers"]

"""A heat map of similarities, one square for each layer."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.plots.picture import Page, picture, shortened

_LONGEST = 36  # characters of a label
_DARK = 0.6  # of the scale: numbers are white from here on


def similarity_map(
    path: Path, tables: Mapping[str, NDArray[np.floating]], labels: Sequence[str], *, title: str = ""
) -> str | None:
    """Draw how alike some things are, in several layers beside each other.

    Args:
        path: The file to write.
        tables: (N, N) similarities, by the name of the layer.
        labels: The names of the N things, at the left.
        title: The title above the picture.

    Returns:
        One line to show to the user if some characters could not be drawn, else None.
    """
    _check(path, tables, count := len(labels))
    shown = [f"{_number(number, count)}  {shortened(label, _LONGEST)}" for number, label in enumerate(labels, 1)]
    names = ["mean of layers" if name == "mean" else f"layer {name}" for name in tables]
    gap = np.full((count, 1), np.nan)
    columns = [part for table in tables.values() for part in (np.asarray(table, dtype=float), gap)][:-1]
    drawn = np.concatenate(columns, axis=1)  # (N, tables x (N + 1) - 1)
    starts = range(0, len(tables) * (count + 1), count + 1)
    low = min(float(np.nanmin(drawn)), 0.0)
    with picture(path, [*shown, *names, title], title=title, height=2.2 + 0.3 * count) as page:
        page.axes.imshow(drawn, cmap="Blues", vmin=low, vmax=1.0, aspect="auto", interpolation="nearest")
        page.axes.set_yticks(range(count), shown)
        page.axes.set_xticks(
            [start + one for start in starts for one in range(count)], [*range(1, count + 1)] * len(starts)
        )
        page.axes.tick_params(length=0)
        page.axes.spines[:].set_visible(False)
        for start, name in zip(starts, names, strict=True):
            page.axes.text(start + (count - 1) / 2, count - 0.35, f"\n{name}", ha="center", va="top")
        if count <= 8:
            _write_numbers(page.axes, drawn, low)
        _align_left(page)
    return page.note


def _check(path: Path, tables: Mapping[str, NDArray[np.floating]], count: int) -> None:
    """Refuse tables that do not have a row and a column for each label."""
    for name, table in tables.items():
        if table.shape != (count, count):
            raise InputError(
                f"layer {name} is {table.shape}, expected {(count, count)}, a similarity of every two labels"
            )
    if not tables or not count:
        raise InputError(f"{path}: no similarity to draw; give at least one layer and one label")


def _number(number: int, count: int) -> str:
    """A number as wide as the largest one, with spaces as wide as digits before it."""
    return str(number).rjust(len(str(count)), "\u2007")


def _align_left(page: Page) -> None:
    """Let the labels begin below each other, as far from the squares as the widest one needs."""
    labels = page.axes.get_yticklabels()
    figure = page.axes.figure
    widest = max(label.get_window_extent().width for label in labels)
    page.axes.tick_params(axis="y", pad=8 + 1.02 * widest * 72 / figure.dpi)
    for label in labels:
        label.set_horizontalalignment("left")


def _write_numbers(axes: "object", drawn: NDArray[np.floating], lowest: float) -> None:
    for (row, column), value in np.ndenumerate(drawn):
        if np.isfinite(value):
            ink = "white" if (value - lowest) / (1 - lowest or 1) > _DARK else "black"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=7)  # type: ignore[attr-defined]

"""A picture of which label was taken for which."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from polyseme.errors import InputError
from polyseme.plots.picture import picture

_MOST = 24  # labels
_LONGEST = 16  # characters of a label


def confusion_chart(path: Path, confusion: Mapping[str, Mapping[str, int]], *, title: str = "") -> str | None:
    """Draw how often each right label was given as each other, by share of the right label.

    Args:
        path: The file to write.
        confusion: Right label to the labels that were given and how often; the most frequent labels are drawn.
        title: The title above the picture.
    """
    if not confusion:
        raise InputError(f"{path}: there are no labels to compare in this task; leave out --plot")
    totals = {label: sum(row.values()) for label, row in confusion.items()}
    given = {label for row in confusion.values() for label in row}
    labels = sorted(sorted(totals, key=lambda label: -totals[label])[:_MOST])
    labels += sorted(given - totals.keys())[: max(0, _MOST - len(labels))]
    shares = np.array([[confusion.get(a, {}).get(b, 0) / max(1, totals.get(a, 0)) for b in labels] for a in labels])
    names = [label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…" for label in labels]
    with picture(path, [*names, title], title=title, height=2.0 + 0.35 * len(labels)) as page:
        axes = page.axes
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="given", ylabel="right")
        for row, column in zip(*np.nonzero(shares >= 0.01), strict=True):
            share = shares[row, column]
            ink = "white" if share > 0.5 else "black"
            axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=ink, fontsize=8)
    return page.note

"""A picture of how a score grows with the training data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyseme.plots.picture import COLOURS, MARKERS, picture


def sample_chart(path: Path, lines: Mapping[str, Sequence[tuple[int, float, float]]], *, title: str = "") -> str | None:
    """Draw scores over the number of training examples, one line for each kind of model.

    Args:
        path: The file to write.
        lines: Examples, score and its spread, by the name of the model.
        title: The title above the picture.
    """
    with picture(path, [*lines, title], title=title) as page:
        axes = page.axes
        handles = []
        for number, points in enumerate(lines.values()):
            sizes, scores, spreads = zip(*points, strict=True)
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            handles.append(axes.errorbar(sizes, scores, yerr=spreads, color=colour, marker=marker, capsize=3))
        axes.set_xscale("log")
        axes.set(xlabel="training examples", ylabel="score")
        page.legend(handles, list(lines))
    return page.note

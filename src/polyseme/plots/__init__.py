"""Pictures of results: occurrences of a word, layer mixes, probes by layer, semantic change, similarities.

Each function writes one PNG or SVG file, completely or not at all, and returns one line to show to the user if some
characters could not be drawn, else None. Colours are those of Okabe and Ito, which colour-blind people can distinguish.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.plots.change import change_chart
from polyseme.plots.confusion import confusion_chart
from polyseme.plots.picture import COLOURS, MARKERS, Page, check_path, picture, shortened
from polyseme.plots.samples import sample_chart
from polyseme.plots.similarity import similarity_map

__all__ = [
    "change_chart",
    "check_path",
    "confusion_chart",
    "mix_chart",
    "occurrence_map",
    "probe_chart",
    "sample_chart",
    "similarity_map",
]


def occurrence_map(
    path: Path,
    points: NDArray[np.floating],
    clusters: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    most_texts: int = 2,
    title: str = "",
) -> str | None:
    """Draw occurrences of a word in two dimensions, coloured by sense.

    Args:
        path: The file to write.
        points: (N, D) vectors; if D is above 2, their two principal components (PCA) are drawn.
        clusters: The cluster of each point, from 0.
        names: The name of each cluster in the legend.
        texts: One line per point, shown for points near the centre of their cluster if there is room.
        most_texts: Maximum number of texts per cluster.
        title: The title above the picture.
    """
    given = len(points) if texts is None else len(texts)
    if not len(points) == len(clusters) == given:
        raise InputError(
            f"{len(points)} points, {len(clusters)} clusters and {given} texts; give one of each for every point"
        )
    flat, member = _two_dimensions(points), np.asarray(clusters)
    numbers = sorted(set(member.tolist()))
    legend = {number: names[number] if names else f"sense {number + 1}" for number in numbers}
    texts = [shortened(text) for text in texts or ()]
    with picture(path, [*texts, *legend.values(), title], title=title) as page:
        for number in numbers:
            _scatter(page, flat[member == number], number, size=28 if len(points) < 500 else 12)
        page.axes.set(xticks=[], yticks=[], xlabel="first main direction", ylabel="second main direction")
        page.axes.margins(0.12)
        page.legend(page.axes.collections, [f"{legend[n]} ({int((member == n).sum()):,})" for n in numbers])
        if texts:
            chosen = _middle_first(flat, member, numbers, most_texts)
            page.write_near(flat, {i: texts[i] for i in chosen}, {i: _colour(int(member[i])) for i in chosen})
    return page.note


def _scatter(page: Page, points: NDArray[np.floating], number: int, *, size: int) -> None:
    """Draw the points (n, 2) of one cluster in its colour and with its marker."""
    marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
    page.axes.scatter(
        points[:, 0], points[:, 1], s=size, alpha=0.75, color=_colour(number), marker=marker, linewidths=0
    )


def mix_chart(path: Path, mixes: Mapping[str, Sequence[float]], *, title: str = "") -> str | None:
    """Draw the share of each layer in a mix: one bar per task, divided by layer.

    Args:
        path: The file to write.
        mixes: The shares of the layers (which sum to 1, as `ScalarMix.shares` gives them), by the name of the task.
        title: The title above the picture.
    """
    layers = {len(shares) for shares in mixes.values()}
    if len(layers) != 1:
        raise InputError(f"mixes of {sorted(layers)} layers; give at least one, and all of the same number of layers")
    tasks = [shortened(task) for task in mixes]
    shares = np.array(list(mixes.values()))  # (tasks, layers)
    left = np.zeros(len(tasks))
    with picture(path, [*tasks, title], title=title, height=1.6 + 0.5 * len(tasks)) as page:
        axes = page.axes
        for layer in range(shares.shape[1]):
            colour = _colour(layer)
            bars = axes.barh(range(len(tasks)), shares[:, layer], left=left, color=colour, edgecolor="white")
            inside = [f"{share:.0%}" if share >= 0.05 else "" for share in shares[:, layer]]
            axes.bar_label(bars, inside, label_type="center", color=_ink(colour))
            left += shares[:, layer]
        axes.set_yticks(range(len(tasks)), tasks)
        axes.invert_yaxis()
        axes.set(xlim=(0, 1), xlabel="share of the mix")
        axes.xaxis.set_major_formatter("{x:.0%}")
        page.legend(axes.containers, [f"layer {layer}" for layer in range(shares.shape[1])])
    return page.note


def probe_chart(
    path: Path, accuracies: Mapping[str, float], baseline: float, *, baseline_name: str = "baseline", title: str = ""
) -> str | None:
    """Draw the accuracy of a probe by layer, with a baseline as a line.

    Args:
        path: The file to write.
        accuracies: From 0 to 1, by the name of the layer.
        baseline: From 0 to 1.
        baseline_name: The name of the baseline in the legend.
        title: The title above the picture.
    """
    names, values = list(accuracies), list(accuracies.values())
    with picture(path, [*names, baseline_name, title], title=title) as page:
        axes = page.axes
        bars = axes.bar(range(len(names)), values, width=0.6, color=COLOURS[0])
        # Numbers are in the middle of the bars, so that the line of the baseline does not cross them.
        axes.bar_label(bars, [f"{value:.1%}" for value in values], label_type="center", color="white", fontsize=12)
        line = axes.axhline(baseline, color=COLOURS[4], linestyle="--", linewidth=2)
        axes.set_xticks(range(len(names)), names)
        # Bars are compared by their length, so the axis begins at 0.
        axes.set(ylim=(0, min(1.0, max(*values, baseline, 0.01) * 1.1)), xlabel="layer", ylabel="accuracy")
        axes.yaxis.set_major_formatter("{x:.0%}")
        page.legend([line], [f"{baseline_name} ({baseline:.1%})"])
    return page.note


def _two_dimensions(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Project points (N, D) on their two principal components: (N, 2)."""
    if points.ndim != 2 or not points.size:
        raise InputError(f"points of shape {points.shape} where (N, D) is expected, with at least one point")
    if points.shape[1] == 2:
        return points
    centred = np.asarray(points - points.mean(axis=0), dtype=np.float64)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(points), 2))
    flat[:, : len(directions[:2])] = centred @ directions[:2].T
    # The signs of components are arbitrary; these put the farthest point at the top right.
    return flat * np.where(np.abs(flat).max(axis=0) > flat.max(axis=0), -1, 1)


def _middle_first(
    flat: NDArray[np.floating], member: NDArray[np.int64], numbers: Sequence[int], most: int
) -> list[int]:
    """Points nearest the centre of their cluster: the first of each cluster, then the second of each, ..."""
    nearest = []
    for number in numbers:
        rows = np.flatnonzero(member == number)
        distance = np.linalg.norm(flat[rows] - np.median(flat[rows], axis=0), axis=1)
        nearest.append(rows[np.argsort(distance, kind="stable")].tolist())
    return [rows[turn] for turn in range(most) for rows in nearest if turn < len(rows)]


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _ink(colour: str) -> str:
    """Black on light colours, white on dark ones."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"

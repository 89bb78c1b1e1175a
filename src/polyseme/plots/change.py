"""A picture of how much words have changed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyseme.errors import InputError
from polyseme.plots.picture import COLOURS, Drawn, Page, picture, shortened

_PALE = "#A6CBE3"
"""The colour of words that are not above their noise."""


def change_chart(
    path: Path,
    changes: Sequence[tuple[str, float]],
    *,
    noise: Mapping[str, float] | None = None,
    measure: str = "APD",
    title: str = "",
    most: int = 30,
    ranked: bool = False,
) -> str | None:
    """Draw words by how much they changed, the most changed on top.

    Args:
        path: The file to write.
        changes: Words with their change.
        noise: By word, what 95% of shuffled splits do not exceed: a mark on its bar, which is pale if not above it.
        measure: The name of the measure.
        title: The title above the picture.
        most: Maximum number of words to draw.
        ranked: Keep the words in the order in which they are given.
    """
    if not changes:
        raise InputError(f"{path}: no word to draw; give at least one with its change")
    chosen = (list(changes) if ranked else sorted(changes, key=lambda pair: -pair[1]))[:most]
    words, noise = [shortened(word) for word, _ in chosen], noise or {}
    height = max(2.5, 1.3 + 0.24 * len(words)) + 0.3 * bool(noise)
    with picture(path, [*words, measure, title], title=title, height=height) as page:
        axes = page.axes
        pale = [word in noise and change <= noise[word] for word, change in chosen]
        colours = [(COLOURS[0], _PALE)[one] for one in pale]
        bars = axes.barh(range(len(words)), [change for _, change in chosen], height=0.7, color=colours)
        _write_changes(page, chosen, noise)
        axes.set_yticks(range(len(words)), words)
        axes.set(ylim=(len(words) - 0.4, -0.6), xmargin=0.1)
        axes.set_xlabel(measure if len(chosen) == len(changes) else f"{measure}, {most} of {len(changes):,} words")
        if noise:
            _mark_noise(page, [noise.get(word) for word, _ in chosen], dict(zip(pale, bars, strict=True)))
    return page.note


def _write_changes(page: Page, changes: Sequence[tuple[str, float]], noise: Mapping[str, float]) -> None:
    """Write the change of each word behind its bar, and behind the mark of its noise."""
    for row, (word, change) in enumerate(changes):
        end = max(change, noise.get(word, change))
        page.axes.annotate(f"{change:.3f}", (end, row), (4, 0), textcoords="offset points", va="center", fontsize=9)


def _mark_noise(page: Page, noise: Sequence[float | None], bars: Mapping[bool, Drawn]) -> None:
    """Draw a line across each bar where its noise ends, and say in a legend what it is.

    Args:
        page: With the bars.
        noise: Of each bar.
        bars: One that is pale and one that is not, as far as there are such.
    """
    rows = [row for row, value in enumerate(noise) if value is not None]
    lines = page.axes.vlines(
        [noise[row] for row in rows], [row - 0.4 for row in rows], [row + 0.4 for row in rows], colors=COLOURS[4], lw=2
    )
    names = {False: "above its noise", True: "not above it, may be chance"}
    page.legend([*bars.values(), lines], [*(names[pale] for pale in bars), "noise (95% of shuffles are below)"])

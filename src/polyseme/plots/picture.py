"""A page with one set of axes, written as PNG or SVG, completely or not at all."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError, MissingPart, OutputError
from polyseme.files.whole import reason, whole_file
from polyseme.plots.fonts import families, quiet

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
MARKERS = "osD^vP*X"
"""Used together with the colours, so that points can be distinguished by either."""

_WIDTH, _HEIGHT, _DPI = 8.0, 5.0, 150  # inches; text of 10 points is still readable at 800 pixels
_SETTINGS = {
    "text.parse_math": False,  # a dollar sign is plain text
    "svg.fonttype": "none",  # as text, which can be searched, instead of outlines
    "svg.hashsalt": "polyseme",  # makes files reproducible
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # a text may contain them, but an SVG must not
_LEGEND = 88  # Latin letters that fit on a line of the legend
_FRAME = 4  # margin around a text, in pixels
_SHIFTS = tuple(
    ((across, up), "left" if across > 0 else "right")
    for reach in (10, 22, 40)
    for across in (reach, -reach)
    for up in (reach, -reach, 0)
)
"""Possible positions of a text relative to its point, in points of the page, nearest first."""


def check_path(path: str | Path) -> Path:
    """Raise an error early if a picture could not be written to this path at the end of a long run."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"{path}: a picture is written as .png or .svg; give a name that ends in one of them")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.absolute().parent}: no such folder to write {path.name} into; create it first")
    _matplotlib()
    return path


Drawn: TypeAlias = Any
"""What matplotlib makes."""


class Page:
    """One figure to draw on.

    Attributes:
        axes: The axes of matplotlib.
        note: One line to show to the user if some characters cannot be drawn, else None.
    """

    def __init__(self, figure: Drawn, title: str, note: str | None) -> None:
        self._figure = figure
        self.axes = figure.subplots()
        self.axes.set_title(title)
        self.note = note

    def legend(self, handles: Sequence[Drawn], labels: Sequence[str]) -> None:
        """Add a legend below the axes, where it hides nothing."""
        labels = [_wrapped(label) for label in labels]
        widest = max(_columns(line) for label in labels for line in label.splitlines() or [""])
        columns = max(1, min(len(labels), 4, _LEGEND // (6 + widest)))
        # matplotlib leaves out a label that begins with an underscore, so each is set afterwards.
        legend = self._figure.legend(
            handles, ["-"] * len(labels), loc="outside lower center", ncols=columns, frameon=False
        )
        for text, label in zip(legend.get_texts(), labels, strict=True):
            text.set_text(label)

    def write_near(self, points: NDArray[np.floating], texts: Mapping[int, str], colours: Mapping[int, str]) -> None:
        """Write texts next to some of the points (N, 2), in coloured frames; leave out those without room.

        No text covers another text or a point that has a text, and each is where it covers the fewest other points.
        """
        from matplotlib.text import Text

        self._figure.draw_without_rendering()  # computes the layout, so that positions on the page are known
        self._figure.set_layout_engine("none")
        inside = self.axes.get_window_extent()
        pixels = self.axes.transData.transform(points)
        named = pixels[list(texts)]
        taken: list[Drawn] = []
        for number in texts:
            free: list[tuple[int, int, Drawn]] = []
            for shift in range(len(_SHIFTS)):
                text = self._annotate(texts[number], points[number], colours[number], shift)
                text.get_window_extent()  # positions the text; its result would include the line to the point
                box = Text.get_window_extent(text).padded(_FRAME)
                text.remove()
                within = inside.x0 < box.x0 and box.x1 < inside.x1 and inside.y0 < box.y0 and box.y1 < inside.y1
                if within and not box.count_contains(named) and not any(box.overlaps(other) for other in taken):
                    free.append((box.count_contains(pixels), shift, box))
            if not free:
                continue
            _, shift, box = min(free, key=lambda one: one[:2])
            self._annotate(texts[number], points[number], colours[number], shift)
            taken.append(box)
            self.axes.plot(*points[number], "o", markersize=8, markerfacecolor="none", markeredgecolor="black")

    def _annotate(self, text: str, point: NDArray[np.floating], colour: str, place: int) -> Drawn:
        """Write a text near a point, in one of the places around it."""
        (across, up), side = _SHIFTS[place]
        return self.axes.annotate(
            text,
            point,
            xytext=(across, up),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": colour, "pad": 2},
            # A line from the near edge of the text to the point.
            arrowprops={"arrowstyle": "-", "color": "0.3", "relpos": (0 if side == "left" else 1, 0.5)},
        )


@contextmanager
def picture(path: str | Path, texts: Sequence[str], *, title: str, height: float = _HEIGHT) -> Iterator[Page]:
    """Give a page to draw on, and save it if there was no error.

    Args:
        path: The file.
        texts: All text that will be drawn, so that fonts can be found for it.
        title: The title above the axes.
        height: The height in inches.
    """
    path = check_path(path)
    kind = path.suffix.lower()[1:]
    with _matplotlib().rc_context(_SETTINGS), quiet():
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        rcParams["font.family"], missing = families({*title, *"".join(texts)})
        # An SVG only names its fonts, and the viewer's machine may have them.
        note = _note(path, missing) if missing and kind == "png" else None
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        yield Page(figure, title, note)
        try:
            with whole_file(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else None)
                if kind == "svg":
                    drawn = temporary.read_text(encoding="utf-8")
                    temporary.write_text(_NOT_XML.sub("\ufffd", drawn), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path}: could not be written ({reason(error)})") from error


def shortened(text: str, longest: int = 44) -> str:
    """A text in one line of at most so many characters; what is left out is an ellipsis at its end."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _columns(text: str) -> int:
    """How wide a text is, in Latin letters: a Chinese character is as wide as two."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _wrapped(label: str) -> str:
    """A label in lines that fit on the page."""
    lines, width = [""], 0
    for one in " ".join(label.split()):
        width += _columns(one)
        if width > _LEGEND - 6:
            lines.append("")
            width = _columns(one)
        lines[-1] += one
    return "\n".join(line.strip() for line in lines)


def _note(path: Path, missing: set[str]) -> str:
    shown = "".join(sorted(missing)[:8])
    return (
        f"{path}: no installed font has {len(missing):,} of the characters ({shown}), drawn as boxes; install one "
        "for their script, such as one of the Noto fonts, or write an SVG"
    )


def _matplotlib() -> Drawn:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPart("pictures need matplotlib; run: pip install 'polyseme[plots]'") from error
    return matplotlib

"""A page with one set of axes, written as PNG or SVG, whole or not at all."""

import re
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
"""With the colours, so that neither has to be told apart alone."""

_WIDTH, _HEIGHT, _DPI = 8.0, 5.0, 150  # inches; letters of 10 points are still clear where 800 pixels are shown
_SETTINGS = {
    "text.parse_math": False,  # a dollar sign is a word
    "svg.fonttype": "none",  # letters, which can be searched, rather than outlines
    "svg.hashsalt": "polyseme",  # the same picture is the same file
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # which a text may hold all the same
_FRAME = 4  # around a text, in pixels
_SHIFTS = tuple(
    ((across, up), "left" if across > 0 else "right")
    for reach in (10, 22, 40)
    for across in (reach, -reach)
    for up in (reach, -reach, 0)
)
"""Where a text may stand beside its point, in points of the page, near places first."""


def check_path(path: str | Path) -> Path:
    """Refuse at once what a picture could not be written to at the end of a long run."""
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
    """What is drawn on.

    Attributes:
        axes: Of matplotlib.
        note: A line to show where some characters cannot be drawn, else None.
    """

    def __init__(self, figure: Drawn, title: str, note: str | None) -> None:
        self._figure = figure
        self.axes = figure.subplots()
        self.axes.set_title(title)
        self.note = note

    def legend(self, handles: Sequence[Drawn], labels: Sequence[str]) -> None:
        """Name what is drawn, below it, where it hides nothing."""
        columns = max(1, min(len(labels), 4, 88 // (6 + max(map(len, labels)))))
        # matplotlib leaves out a label that begins with an underscore, so each is set afterwards.
        legend = self._figure.legend(
            handles, ["-"] * len(labels), loc="outside lower center", ncols=columns, frameon=False
        )
        for text, label in zip(legend.get_texts(), labels, strict=True):
            text.set_text(label)

    def write_near(self, points: NDArray[np.floating], texts: Mapping[int, str], colours: Mapping[int, str]) -> None:
        """Write texts beside some of the points (N, 2), in frames of a colour, or leave out those without room.

        No text covers another or a point that has one, and each stands where it covers the fewest other points.
        """
        from matplotlib.text import Text

        self._figure.draw_without_rendering()  # settles the layout, so that places on the page are known
        self._figure.set_layout_engine("none")
        inside = self.axes.get_window_extent()
        pixels = self.axes.transData.transform(points)
        named = pixels[list(texts)]
        taken: list[Drawn] = []
        for number in texts:
            free: list[tuple[int, int, Drawn]] = []
            for place in range(len(_SHIFTS)):
                text = self._annotate(texts[number], points[number], colours[number], place)
                text.get_window_extent()  # computes the place of the text, but measures the line to the point as well
                box = Text.get_window_extent(text).padded(_FRAME)
                text.remove()
                within = inside.x0 < box.x0 and box.x1 < inside.x1 and inside.y0 < box.y0 and box.y1 < inside.y1
                if within and not box.count_contains(named) and not any(box.overlaps(other) for other in taken):
                    free.append((box.count_contains(pixels), place, box))
            if not free:
                continue
            _, place, box = min(free, key=lambda one: one[:2])
            self._annotate(texts[number], points[number], colours[number], place)
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
    """Give a page to draw on, and save it when all went well.

    Args:
        path: The file.
        texts: Everything that will be written, so that fonts can be found for it.
        title: Above the axes.
        height: In inches.
    """
    path = check_path(path)
    kind = path.suffix.lower()[1:]
    with _matplotlib().rc_context(_SETTINGS), quiet():
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        rcParams["font.family"], missing = families({*title, *"".join(texts)})
        # An SVG only names its fonts, and whoever looks at it may have them.
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


def _note(path: Path, missing: set[str]) -> str:
    shown = "".join(sorted(missing)[:8])
    return (
        f"{path}: no installed font has {len(missing):,} of the characters ({shown}), drawn as boxes; install one, "
        "such as Noto Sans CJK for Chinese, or write an SVG"
    )


def _matplotlib() -> Drawn:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPart("pictures need matplotlib; run: pip install 'polyseme[plots]'") from error
    return matplotlib

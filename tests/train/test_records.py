"""The picture of a run: no empty axis, and a legend that is neither cut nor in the way."""

import math
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pytest

from polyseme import plots
from polyseme.train.engine.job import Curve
from polyseme.train.engine.records import CURVE, Records, draw_curve

HELD: Records = [{"kind": "heldout", "update": n, "forward": 9.0 - n, "backward": 8.0 - n} for n in range(3)]
LEARNT: Records = [{"kind": "training", "update": n, "objective": "sampled", "loss": 3.0 - n} for n in range(3)]
LONG = Curve(("forward", "backward"), "held-out perplexity (full softmax)", logarithmic=True)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that were saved."""
    saved: list[Any] = []
    save = matplotlib.figure.Figure.savefig

    def kept(self: Any, *arguments: Any, **options: Any) -> None:
        saved.append(self)
        save(self, *arguments, **options)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", kept)
    return saved


@pytest.mark.parametrize(
    ("records", "axes"),
    [
        ([*LEARNT, *HELD], 2),
        (HELD, 1),
        (LEARNT, 1),
        ([*LEARNT, {"kind": "heldout", "update": 1, "forward": math.inf, "backward": math.inf}], 1),
        ([{"kind": "heldout", "update": 1, "forward": math.inf, "backward": 2.0}], 1),
    ],
)
def test_every_axis_has_a_line_and_the_legend_is_on_the_page(
    records: Records, axes: int, tmp_path: Path, figures: list[Any]
) -> None:
    draw_curve(tmp_path / CURVE, records, LONG)
    (figure,) = figures
    assert len(figure.axes) == axes
    assert all(len(line.get_xdata()) for one in figure.axes for line in one.lines)
    assert all(one.lines for one in figure.axes)
    on_the_page(figure)
    box = figure.legends[0].get_window_extent()
    assert not any(box.overlaps(one.get_window_extent()) for one in figure.axes)


def test_no_picture_of_nothing(tmp_path: Path) -> None:
    draw_curve(tmp_path / CURVE, [{"kind": "heldout", "update": 1, "forward": math.inf, "backward": math.nan}], LONG)
    assert not (tmp_path / CURVE).exists()


def test_long_names_in_a_legend_are_wrapped(tmp_path: Path, figures: list[Any]) -> None:
    names = ["a name that goes on and on " * 6, "x" * 300]
    points = np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    plots.occurrence_map(tmp_path / "a.svg", points, [0, 1], names=names, title="x")
    on_the_page(figures[0])


def on_the_page(figure: Any) -> None:
    box, page = figure.legends[0].get_window_extent(), figure.bbox
    assert 0 <= box.x0 < box.x1 <= page.x1
    assert 0 <= box.y0 < box.y1 <= page.y1

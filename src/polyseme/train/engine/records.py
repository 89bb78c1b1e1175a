"""The figures of a run: metrics.jsonl, learning-curve.png and, if it is installed, TensorBoard's log."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polyseme.errors import OutputError
from polyseme.files.whole import JSON, reason, whole_file, write_text
from polyseme.train.engine.job import Curve

METRICS = "metrics.jsonl"
CURVE = "learning-curve.png"
BOARD = "tensorboard"

Records = Sequence[Mapping[str, JSON]]


class Log:
    """Appends records to metrics.jsonl and, if it is installed, to TensorBoard.

    Args:
        folder: Where metrics.jsonl and the ``tensorboard`` folder are.
        records: What the file is to hold at first; records made after the last checkpoint of an interrupted run go.
    """

    def __init__(self, folder: Path, records: Records) -> None:
        self._path = folder / METRICS
        self._board: Any = None
        write_records(self._path, records)
        if find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            last = records[-1]["update"] if records else 0
            self._board = SummaryWriter(str(folder / BOARD), purge_step=(last if isinstance(last, int) else 0) + 1)

    def add(self, record: Mapping[str, JSON]) -> None:
        """Append one record."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        if self._board is not None:
            for name, value in record.items():
                if isinstance(value, float):
                    self._board.add_scalar(f"{record['kind']}/{name}", value, record["update"])

    def close(self) -> None:
        """Let TensorBoard finish."""
        if self._board is not None:
            self._board.close()


def write_records(path: Path, records: Records) -> None:
    """Write metrics.jsonl from the beginning.

    Raises:
        OutputError: The system refused.
    """
    try:
        write_text(path, "".join(json.dumps(record) + "\n" for record in records))
    except OSError as error:
        raise OutputError(f"{path}: could not be written ({reason(error)}); put that right and use --resume") from error


def write_summary(folder: Path, records: Records, curve: Curve) -> None:
    """Write the metrics and the learning curve into a model folder."""
    write_records(folder / METRICS, records)
    draw_curve(folder / CURVE, records, curve)


def draw_curve(path: Path, records: Records, curve: Curve) -> None:
    """Draw training loss and evaluations over updates, if matplotlib is installed."""
    training = [record for record in records if record["kind"] == "training"]
    heldout = [record for record in records if record["kind"] == "heldout"]
    measured = [key for key in curve.figures if _points(heldout, key)[0]]
    if not find_spec("matplotlib") or not (training or measured):
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left = figure.subplots()
    left.set_xlabel("update")
    if training:
        name = training[0]["objective"]
        left.plot(*_points(training, "loss"), color="0.6", label=f"{name} training loss")
        left.set_ylabel("training loss (nats per prediction)")
    if measured:
        axes = left.twinx() if training else left
        for number, key in enumerate(measured):
            axes.plot(*_points(heldout, key), "o-", color=f"C{number}", label=f"held-out {key.replace('_', ' ')}")
        if curve.logarithmic:
            _label_logarithmic(axes)
        axes.set_ylabel(curve.label)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)  # below the axes, where it hides nothing
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def _points(records: Records, name: str) -> tuple[list[float], list[float]]:
    """Updates, and a figure at each of them."""
    pairs = [(record["update"], record[name]) for record in records if name in record]
    numbers = [
        (x, y) for x, y in pairs if isinstance(x, int | float) and isinstance(y, int | float) and math.isfinite(y)
    ]
    return [x for x, _ in numbers], [y for _, y in numbers]


def _label_logarithmic(axes: Any) -> None:
    """A logarithmic axis whose labels are numbers, not powers of ten."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    low, high = axes.get_ylim()
    axes.yaxis.set_minor_formatter("{x:,.0f}" if high < 10 * low else "")

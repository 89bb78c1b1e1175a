"""metrics.jsonl, learning-curve.png and TensorBoard."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

METRICS = "metrics.jsonl"
CURVE = "learning-curve.png"
BOARD = "tensorboard"


class Log:
    """Appends records to metrics.jsonl and, where it is installed, to TensorBoard.

    Args:
        folder: Where metrics.jsonl and the ``tensorboard`` folder lie.
        records: What the file is to hold at first; records of a lost sitting after the last checkpoint go.
    """

    def __init__(self, folder: Path, records: Sequence[dict[str, Any]]) -> None:
        self._path = folder / METRICS
        self._board: Any = None
        write_records(self._path, records)
        if find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            last = records[-1]["update"] if records else 0
            self._board = SummaryWriter(str(folder / BOARD), purge_step=last + 1)

    def add(self, record: dict[str, Any]) -> None:
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


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write metrics.jsonl anew, whole or not at all."""
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    temporary.replace(path)


def draw_curve(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Draw training loss and held-out perplexity over updates, where matplotlib is there to do it."""
    if not find_spec("matplotlib"):
        return
    from matplotlib.figure import Figure

    training = [record for record in records if record["kind"] == "training"]
    heldout = [record for record in records if record["kind"] == "heldout"]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left = figure.subplots()
    if training:
        name = training[0]["objective"]
        left.plot(
            [r["update"] for r in training], [r["loss"] for r in training], color="0.6", label=f"{name} training loss"
        )
    left.set_xlabel("update")
    left.set_ylabel("training loss (nats a prediction)")
    right = left.twinx()
    for direction, colour in (("forward", "tab:blue"), ("backward", "tab:orange")):
        right.plot(
            [r["update"] for r in heldout],
            [r[direction] for r in heldout],
            "o-",
            color=colour,
            label=f"held-out {direction}",
        )
    right.set_yscale("log")
    right.yaxis.set_major_formatter("{x:,.0f}")  # a perplexity, not a power of ten
    low, high = right.get_ylim()
    right.yaxis.set_minor_formatter("{x:,.0f}" if high < 10 * low else "")
    right.set_ylabel("held-out perplexity (full softmax)")
    figure.legend(loc="upper right", bbox_to_anchor=(1, 1), bbox_transform=left.transAxes)
    temporary = path.with_name(path.name + ".partial")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)

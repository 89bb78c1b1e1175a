"""The learning curve of a recipe's model over all stages of its training.

``recipes/NAME/curve.jsonl`` has a line for each evaluation. It is kept with the recipe, because the stages of a long
training may run on different machines and their own records stay there.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyseme.train.engine.job import Curve
from polyseme.train.engine.records import CURVE, METRICS, draw_curve

FILE = "curve.jsonl"
PICTURE = CURVE
_FIGURES = ("update", "tokens", "epoch", "elapsed", "forward", "backward")
_DRAWN = Curve(("forward", "backward"), "perplexity, full softmax", logarithmic=True)

Row = dict[str, Any]


def stage_rows(metrics: Path, stage: int) -> list[Row]:
    """The evaluations in the metrics of a stage, and its last record, which may be later than the last evaluation."""
    records = [json.loads(line) for line in metrics.read_text("utf-8").splitlines()]
    kept = [one for one in records if one["kind"] == "heldout" or one is records[-1]]
    return [{"stage": stage, **{name: one[name] for name in _FIGURES if name in one}} for one in kept]


def update_curve(path: Path, stages: Sequence[Path]) -> list[Row]:
    """Bring a curve up to date with the stages' model folders.

    Args:
        path: The curve; need not exist.
        stages: The folder of each stage. One that has no metrics was trained elsewhere, and its lines are kept.
    """
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    known = [row for row in rows if row["stage"] <= len(stages)]
    for number, folder in enumerate(stages, 1):
        if (folder / METRICS).exists():
            known = [row for row in known if row["stage"] != number] + stage_rows(folder / METRICS, number)
    known.sort(key=lambda row: (row["stage"], row["update"]))
    path.write_text("".join(json.dumps(row) + "\n" for row in known), encoding="utf-8")
    return known


def last_row(rows: Sequence[Mapping[str, Any]], stage: int) -> Mapping[str, Any]:
    """Where a stage ended; nowhere if nothing is known of it."""
    found = [row for row in rows if row["stage"] == stage]
    return found[-1] if found else {"tokens": 0, "epoch": 0.0, "update": 0, "elapsed": 0.0}


def draw(path: Path, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Draw the evaluations of all stages one after the other; False if there are none or matplotlib is not there."""
    records: list[Row] = []
    before = {0: 0}
    for row in rows:
        stage = row["stage"]
        before.setdefault(stage, before[stage - 1] + last_row(rows, stage - 1)["update"] if stage > 1 else 0)
        if "forward" in row:
            records.append({**row, "kind": "heldout", "update": before[stage] + row["update"]})
    draw_curve(path, records, _DRAWN)
    return path.exists()

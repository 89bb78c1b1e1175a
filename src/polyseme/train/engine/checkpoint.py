"""Checkpoints: everything needed to go on as if nothing had happened, written whole or not at all."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from polyseme.errors import FormatError, OutputError

FILE = "checkpoint.pt"


@dataclass
class Progress:
    """Where a run stands."""

    epoch: int = 0
    group: int = 0
    """Groups of batches done in this epoch."""
    epoch_share: float = 0.0
    update: int = 0
    tokens: int = 0
    """Tokens predicted a direction: every token and one marker a sentence."""
    elapsed: float = 0.0
    """Seconds, over all sittings."""
    rate_scale: float = 1.0
    """Lowered when the run diverged."""
    setbacks: int = 0
    best: float | None = None
    """The lowest held-out perplexity, average of the directions."""
    best_update: int = 0
    since_best: int = 0
    """Held-out figures since then."""
    smooth_loss: float | None = None
    lowest_loss: float | None = None
    """Of the smoothed training loss."""
    evaluated_update: int = -1
    """The update after which the held-out text was measured last."""
    evaluated_elapsed: float = 0.0
    """And the time then."""
    evaluation_seconds: float = 0.0
    """What the last held-out figure took."""
    recent: list[list[float]] = field(default_factory=list)
    """Summed loss, predictions and elapsed seconds of the last updates."""
    records: list[dict[str, Any]] = field(default_factory=list)
    """What the metrics.jsonl of the model holds."""


def save(path: Path, progress: Progress, state: dict[str, Any]) -> None:
    """Write a checkpoint beside its final name and rename it, so that a kill at any moment leaves a whole one."""
    temporary = path.with_name(path.name + ".partial")
    try:
        with temporary.open("wb") as file:
            torch.save({"progress": asdict(progress), **state}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, RuntimeError) as error:
        temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise OutputError(
            f"{path}: the checkpoint could not be written ({reason}); the one before it is kept, make room and --resume"
        ) from error


def load(path: Path) -> tuple[Progress, dict[str, Any]]:
    """Read what `save` wrote."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        return Progress(**state.pop("progress")), state
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, EOFError, UnpicklingError) as error:
        first = str(error).splitlines()[0]
        raise FormatError(
            f"{path}: not a checkpoint of this version of polyseme, or a damaged one ({first})"
        ) from error

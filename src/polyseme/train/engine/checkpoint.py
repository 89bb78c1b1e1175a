"""Checkpoints: everything that is needed to continue as if nothing had happened, written whole or not at all."""

from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeAlias
from zipfile import BadZipFile

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from polyseme.errors import FormatError, OutputError
from polyseme.files.json_file import problems
from polyseme.files.plain_zip import check_plain_zip
from polyseme.files.whole import JSON, reason, whole_file

FILE = "checkpoint.pt"

State: TypeAlias = dict[str, Any]
"""Tensors and plain values by name, nested; of torch's making."""


class Progress(BaseModel):
    """How far a run has come."""

    model_config = ConfigDict(extra="forbid")

    epoch: int = 0
    group: int = 0
    """Updates made in this epoch."""
    epoch_share: float = 0.0
    update: int = 0
    tokens: int = 0
    """Tokens learnt from."""
    elapsed: float = 0.0
    """Seconds, over all parts of the run."""
    rate_scale: float = 1.0
    """Lowered when the run diverged."""
    setbacks: int = 0
    best: float | None = None
    """The best score of an evaluation."""
    best_update: int = 0
    since_best: int = 0
    """Evaluations since then."""
    smooth_loss: float | None = None
    lowest_loss: float | None = None
    """Of the smoothed training loss."""
    evaluated_update: int = -1
    """The update after which the last evaluation was made."""
    evaluated_elapsed: float = 0.0
    """And the time then."""
    evaluation_seconds: float = 0.0
    """How long the last evaluation took, with the writing of the model."""
    evaluation_share: float = 1.0
    """Of the held-out text that is measured, to keep a time budget."""
    recent: list[tuple[float, int, int, float]] = Field(default_factory=list)
    """Summed loss, predictions, tokens and elapsed seconds of the last updates."""
    records: list[dict[str, JSON]] = Field(default_factory=list)
    """What the metrics.jsonl of the model holds."""


def save(path: Path, progress: Progress, state: State) -> None:
    """Write a checkpoint; a kill at any moment leaves the one before it, whole."""
    try:
        with whole_file(path) as temporary, temporary.open("wb") as file:
            torch.save({"progress": progress.model_dump(), **state}, file)
    except (OSError, RuntimeError) as error:
        raise OutputError(
            f"{path}: the checkpoint could not be written ({reason(error)[:200]}); the one before it is kept, free "
            "some space and continue with --resume"
        ) from error


def load(path: Path) -> tuple[Progress, State]:
    """Read what `save` wrote.

    Raises:
        FormatError: The file is not a checkpoint, or a damaged one.
    """
    advice = f"delete {path.parent} and begin again"
    try:
        check_plain_zip(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
        return Progress.model_validate(state.pop("progress")), state
    except ValidationError as error:
        place, problem = next(problems(error))
        raise FormatError(f"{path}: progress.{place}: {problem}; {advice}") from None
    except (
        OSError,
        RuntimeError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        EOFError,
        BadZipFile,
        UnpicklingError,
    ) as error:
        first = reason(error).split(". ")[0][:200]
        raise FormatError(f"{path}: not a checkpoint of this version, or a damaged one ({first}); {advice}") from error


def moved(value: object, device: torch.device) -> object:
    """A value of a checkpoint with every tensor in it on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: moved(one, device) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(moved(one, device) for one in value)
    return value

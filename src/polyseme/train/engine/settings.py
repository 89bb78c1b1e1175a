"""Settings that every training run has, each described once, next to its field.

The command line, its help and the checks of values all come from these fields. Nothing here needs torch.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from polyseme.errors import InputError
from polyseme.files.json_file import problems

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(seconds?|sec|s|minutes?|min|m|hours?|h|days?|d)\s*")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: object) -> object:
    """A time such as 90m, 1h30m, 45 seconds or a plain number of seconds, in seconds."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(f"({_TIME.pattern})+", value):
        return sum(float(number) * _UNITS[unit[0]] for number, unit in _TIME.findall(value))
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a time; write 90m, 1h30m, 45s or a number of seconds") from None


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
OptimizerKind = Literal["adamw", "adagrad", "muon"]
Share = Annotated[float, Field(ge=0, lt=1)]


class RunSettings(BaseModel):
    """The settings of any training run; every kind of model adds its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # How long.
    epochs: Count = Field(10, description="Passes over the training data, at most.")
    time_budget: Seconds | None = Field(
        None, description="Time for everything, such as 90m; the learning rate decays over it."
    )
    updates: Count | None = Field(None, description="Updates, at most.")
    patience: Count = Field(3, description="Stop after this many evaluations without a better one.")
    evaluate_every: Count | None = Field(
        None, description="Updates between evaluations; otherwise every epoch, and every tenth of a time budget."
    )

    # How it learns.
    optimizer: OptimizerKind = Field("adamw", description="The optimiser.")
    learning_rate: Annotated[float, Field(gt=0)] = Field(2e-3, description="The highest learning rate.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.01, description="Decay of weight matrices; adagrad has none.")
    warmup: Annotated[int, Field(ge=0)] = Field(
        200, description="Updates over which the rate rises from 0, but at most the first twentieth of the run."
    )
    decay: Literal["cosine", "linear", "late", "none"] = Field(
        "cosine",
        description="How the rate falls to 0 over the run; late is linear over the last --decay-share of it and "
        "constant before.",
    )
    decay_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.2, description="Share of the run at its end over which the rate falls with --decay late."
    )
    average: Share = Field(
        0.0,
        description="Measure and keep weights averaged over about the last share of the updates so far, such as 0.1; 0 "
        "is without.",
    )
    clip: Annotated[float, Field(gt=0)] = Field(5.0, description="Largest norm of the gradient.")
    accumulate: Count = Field(1, description="Batches whose gradients make one update.")

    # Where and in what.
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Number type of the computation; weights are always kept in float32. auto is bfloat16 on a GPU and "
        "where the processor has instructions for it, otherwise float32.",
    )
    device: str = Field("cpu", description="Where to compute: cpu or cuda.")
    threads: Literal["auto"] | Count = Field(
        "auto",
        description="Threads on a CPU. auto measures now and then which number is fastest beside the machine's other "
        "work; the weights do not depend on it where the kernels compute (LSTM layers).",
    )
    checkpoint_every: Seconds = Field(600.0, description="Time between checkpoints, such as 10m.")
    seed: Annotated[int, Field(ge=0)] = Field(1, description="Seed of all random numbers.")


MAY_DIFFER = frozenset({"checkpoint_every", "threads"})
"""Settings that a resumed run may have otherwise than the interrupted one."""

Kind = TypeVar("Kind", bound=RunSettings)


def check_settings(kind: type[Kind], values: Mapping[str, object]) -> Kind:
    """Settings of one kind of run from plain values.

    Raises:
        InputError: A setting is unknown or its value is not possible.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        place, problem = next(problems(error))
        name = place.partition(".")[0]
        if name and name not in kind.model_fields:
            meant = get_close_matches(name, kind.model_fields, n=1)
            hint = f"did you mean {meant[0]}? " if meant else ""
            raise InputError(f"unknown setting {name!r}; {hint}there are {', '.join(kind.model_fields)}") from None
        raise InputError(f"setting {name}: {problem}" if name else problem) from None

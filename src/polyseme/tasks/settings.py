"""The settings of a task's training run, each described once, next to its field.

The command line, its help and the checks of values all come from these fields. Nothing here needs torch.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from polyseme.errors import InputError
from polyseme.tasks.choices import TaskName, VectorLayers, VectorPlace
from polyseme.train.engine.settings import Count, RunSettings, Share, check_settings

Width = Annotated[int, Field(ge=0, le=1 << 14)]


class TaskSettings(RunSettings):
    """The settings of a task's training run. `DEFAULTS` has what a task changes of the values here."""

    # What the model reads of a word.
    elmo_at: VectorPlace = Field("input", description="Where the model reads contextual vectors.")
    layers: VectorLayers = Field("all", description="A learned mix of all layers of the vectors, or the top one.")
    mix_l2: Annotated[float, Field(ge=0)] = Field(
        0.001, description="Strength of the penalty on the weights of a mix, which keeps it near the mean."
    )
    train_static: bool = Field(False, description="Static vectors learn with the task, rather than staying fixed.")
    word_dim: Width | None = Field(
        None,
        description="Width of the word vectors that the task learns itself; by default 50 without static vectors "
        "and 0 (none) beside them.",
    )
    min_count: Count = Field(2, description="A word seen less often in training has no learned vector of its own.")
    casing_dim: Width = Field(8, description="Width of the vector for a word's case; 0 for none.")
    character_filters: Width = Field(64, description="Filters over the characters of a word; 0 for no characters.")
    character_dim: Count = Field(16, description="Width of a character vector.")
    character_width: Annotated[int, Field(ge=1, le=9)] = Field(3, description="Bytes that one filter covers.")

    # The network above the words.
    model: Literal["default", "mlp", "bcn"] = Field(
        "default",
        description="Which model, for classify: bcn (biattentive classification network) or mlp (the mean of the word "
        "vectors and one hidden layer); the default is bcn.",
    )
    hidden_dim: Count = Field(150, description="Cells of each direction of an LSTM.")
    depth: Annotated[int, Field(ge=1, le=16)] = Field(1, description="Layers of the model's own encoder.")
    dropout: Share = Field(0.4, description="Dropout on the input and on the output of the encoder.")
    recurrent_dropout: Share = Field(
        0.1, description="For roles: dropout on the states of the encoder, the same at all steps of a sentence."
    )
    span_width: Annotated[int, Field(ge=1, le=100)] = Field(10, description="For coref: tokens of a mention, at most.")
    kept_spans: Annotated[float, Field(gt=0, le=1)] = Field(
        0.4, description="For coref: spans that are kept as mentions, as a share of the document's tokens."
    )
    antecedents: Count = Field(50, description="For coref: candidates for the antecedent of a mention, at most.")
    mention_loss: Annotated[float, Field(ge=0)] = Field(
        1.0,
        description="For coref: weight of the loss of telling mentions from other spans; 0 for that of antecedents "
        "alone, which needs far more documents.",
    )
    document_sentences: Count = Field(
        50, description="For coref: a longer document is learnt from in pieces of at most so many sentences."
    )

    max_passage: Annotated[int, Field(ge=8)] = Field(
        400,
        description="For answer: tokens of a passage to learn from; longer ones are cut to this many around the "
        "answer. No passage is cut when questions are answered.",
    )
    max_answer: Count = Field(17, description="For answer: tokens of an answer, at most.")

    # Batches and the vectors of their words.
    batch_size: Count = Field(32, description="Examples of a batch, at most.")
    batch_tokens: Count = Field(
        16384, description="Tokens of a batch with its padding, at most; batches of long texts have fewer examples."
    )
    cache_mib: Annotated[int, Field(ge=0)] = Field(
        4096,
        description="Disk space, in MiB, for contextual vectors, so that they are computed once; what does not "
        "fit is computed again in every epoch.",
    )

    # How it learns.
    optimizer: Literal["adamw", "adagrad"] = Field("adamw", description="The optimiser.")
    learning_rate: Annotated[float, Field(gt=0)] = Field(2e-3, description="The highest learning rate.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(1e-4, description="Decay of weight matrices (adamw).")
    warmup: Annotated[int, Field(ge=0)] = Field(
        20, description="Updates over which the rate rises from 0, but at most the first twentieth of the run."
    )
    epochs: Count = Field(15, description="Passes over the training data, at most.")
    patience: Count = Field(5, description="Stop after this many evaluations without a better one.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "float32", description="Number type of the computation; weights are always kept in float32."
    )
    fine_tune: bool = Field(
        False, description="The contextual models learn too, each a layer more with every epoch, from the top down."
    )
    fine_tune_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        0.1, description="Their learning rate, as a share of the task's."
    )


DEFAULTS: dict[TaskName, dict[str, object]] = {
    "tag": {"dropout": 0.3, "learning_rate": 3e-3},
    "ner": {"train_static": True, "mix_l2": 0.1, "depth": 2, "dropout": 0.3, "epochs": 10},
    "classify": {
        "casing_dim": 0,
        "character_filters": 0,
        "batch_size": 64,
        "dropout": 0.1,
        "weight_decay": 1e-3,
    },
    "entail": {
        "train_static": True,
        "elmo_at": "both",
        "casing_dim": 0,
        "character_filters": 0,
        "clip": 10.0,
        "dropout": 0.2,
    },
    "answer": {
        "elmo_at": "both",
        "mix_l2": 0.0,
        "character_width": 5,
        "hidden_dim": 64,
        "dropout": 0.1,
        "batch_size": 16,
    },
    "roles": {
        "train_static": True,
        "clip": 1.0,
        "dropout": 0.1,
        "hidden_dim": 160,
        "depth": 4,
        "epochs": 40,
        "patience": 10,
    },
    "coref": {
        "batch_size": 1,
        "dropout": 0.3,
        "hidden_dim": 100,
        "learning_rate": 1e-3,
        "epochs": 20,
        "patience": 7,
    },
}
"""What each task changes of the values in `TaskSettings`: structure and places as published, sizes for small data.

Dropout is lower and rates are higher than published: those are for vectors of 300 numbers and hundreds of thousands of
examples. With 50 numbers and some thousand examples, dropout of 0.5 on the input kept ESIM at 62% on SICK's dev part,
where 0.2 reached 76%.
"""

GROUPS: dict[str, tuple[str, ...]] = {
    "Common settings": (
        "time_budget",
        "epochs",
        "elmo_at",
        "layers",
        "mix_l2",
        "train_static",
        "fine_tune",
        "learning_rate",
        "dropout",
        "batch_size",
        "model",
        "seed",
    ),
    "Words": ("word_dim", "min_count", "casing_dim", "character_filters", "character_dim", "character_width"),
    "Size of the model": ("hidden_dim", "depth", "recurrent_dropout"),
    "Questions": ("max_passage", "max_answer"),
    "Coreference": ("span_width", "kept_spans", "antecedents", "mention_loss", "document_sentences"),
    "Learning": (
        "optimizer",
        "weight_decay",
        "warmup",
        "decay",
        "decay_share",
        "average",
        "clip",
        "batch_tokens",
        "accumulate",
        "fine_tune_rate",
        "precision",
        "device",
        "threads",
    ),
    "Stopping, evaluation and checkpoints": (
        "updates",
        "patience",
        "evaluate_every",
        "checkpoint_every",
        "cache_mib",
    ),
}
"""How the settings are grouped in help and cards, the common ones first."""


def settings_of(task: TaskName, given: Mapping[str, object]) -> TaskSettings:
    """The settings of a task with some changed; None means not given.

    Raises:
        InputError: The task or a setting is unknown, or a value is not possible.

    Example:
        >>> settings_of("ner", {"time_budget": "8m", "dropout": None}).dropout
        0.3
    """
    if task not in DEFAULTS:
        raise InputError(f"unknown task {task!r}; there are {', '.join(DEFAULTS)}")
    return check_settings(TaskSettings, {**DEFAULTS[task], **{k: v for k, v in given.items() if v is not None}})

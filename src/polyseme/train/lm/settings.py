"""Everything that can be set about a training run, each setting described once, here.

The command line, its help and the checks of values all come from these fields. Nothing here needs torch.
"""

import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from polyseme.errors import InputError
from polyseme.models.config import (
    CharacterEncoderConfig,
    EncoderKind,
    GatedCnnEncoderConfig,
    LstmEncoderConfig,
    Size,
)
from polyseme.text.choices import Alphabet
from polyseme.train.choices import Preset

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(seconds?|sec|s|minutes?|min|m|hours?|h|days?|d)\s*")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PUBLISHED_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


def seconds(value: object) -> object:
    """A time such as 90m, 1h30m, 45 seconds or a plain number of seconds, in seconds."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(f"({_TIME.pattern})+", value):
        return sum(float(number) * _UNITS[unit[0]] for number, unit in _TIME.findall(value))
    try:
        return float(value)
    except ValueError:
        raise ValueError("not a time; write 90m, 1h30m, 45s or seconds") from None


def _pairs(value: object) -> object:
    """Filters as the command line writes them: 1:32,2:32,3:64."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(tuple(int(number) for number in pair.split(":")) for pair in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} are no filters; write width:count,width:count") from None


def _numbers(value: object) -> object:
    """Numbers with commas between them."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(int(number) for number in value.split(",")) if value else ()
    except ValueError:
        raise ValueError(f"{value!r} are no numbers; write 2000,20000") from None


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
Filters = Annotated[tuple[tuple[Size, Size], ...], BeforeValidator(_pairs), Field(min_length=1)]
Numbers = Annotated[tuple[Size, ...], BeforeValidator(_numbers)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]


class Settings(BaseModel):
    """The settings of a training run; sizes of the model have the bounds of its configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # What a word is made of.
    characters: Alphabet = Field("bytes", description="What the model reads of a word.")
    max_characters: Annotated[int, CharacterEncoderConfig.model_fields["max_characters"]] = Field(
        50, description="Characters of a word with its two markers; longer words are cut."
    )
    character_dim: Size = Field(16, description="Width of a character vector.")
    filters: Filters = Field(_PUBLISHED_FILTERS, description="Convolutions over characters, width:count each.")
    highway_layers: Annotated[int, CharacterEncoderConfig.model_fields["highway_layers"]] = Field(
        1, description="Highway layers after the convolutions."
    )

    # The network above the words.
    encoder: EncoderKind = Field("lstm", description="What reads the context.")
    layers: Annotated[int, LstmEncoderConfig.model_fields["layers"]] = Field(2, description="Layers of each direction.")
    hidden_dim: Size = Field(1024, description="Cells (gated units of a gated-cnn) of a layer.")
    projection_dim: Size = Field(128, description="Width of a token vector and of each direction.")
    width: Annotated[int, GatedCnnEncoderConfig.model_fields["width"]] = Field(
        5, description="Tokens one convolution of a gated-cnn sees."
    )
    freeze: Literal["nothing", "tokens", "layers", "encoder"] = Field(
        "nothing",
        description="What stays as it is: the token encoder, also all layers but the top one, or all but the softmax.",
    )

    # The words it predicts.
    vocabulary_size: Count = Field(100_000, description="Words to predict, at most; the others are `<UNK>`.")
    min_count: Count = Field(2, description="A word seen less often is `<UNK>`.")
    softmax: Literal["auto", "full", "sampled", "adaptive"] = Field(
        "auto",
        description="How words are predicted; auto is full up to 20,000 words or twice the samples, else sampled.",
    )
    samples: Count = Field(8192, description="Negative words of the sampled softmax, shared by a batch.")
    cutoffs: Numbers = Field((4000, 20_000, 100_000), description="Where the clusters of the adaptive softmax begin.")

    # How text is laid out.
    layout: Literal["sentences", "rows"] = Field(
        "sentences",
        description="Each sentence alone, as embedding does, or rows of running text with carried state.",
    )
    batch_tokens: Annotated[int, Field(ge=2)] = Field(2048, description="Tokens of a batch of sentences.")
    max_sentence: Annotated[int, Field(ge=2)] = Field(
        400, description="Longer sentences are cut into pieces of so many tokens."
    )
    rows: Count = Field(128, description="Rows of running text in a batch.")
    steps_a_row: Annotated[int, Field(ge=2)] = Field(20, description="Tokens of a row before gradients are cut.")
    accumulate: Count = Field(1, description="Batches whose gradients make one update.")
    heldout_tokens: Count = Field(
        20_000, description="Held-out text that is measured, at most; without --heldout also at most 5% of the corpus."
    )

    # How it learns.
    optimizer: Literal["adamw", "adagrad"] = Field(
        "adamw",
        description="The optimiser; adagrad as in the original recipe, on the loss of --steps-a-row predictions.",
    )
    learning_rate: Annotated[float, Field(gt=0)] = Field(2e-3, description="The highest rate.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.01, description="Decay of weight matrices (adamw).")
    warmup: Annotated[int, Field(ge=0)] = Field(
        200, description="Updates over which the rate rises from 0, but at most the first twentieth of the run."
    )
    decay: Literal["cosine", "linear", "none"] = Field("cosine", description="How the rate falls to 0 over the run.")
    clip: Annotated[float, Field(gt=0)] = Field(5.0, description="Largest norm of the gradient.")
    dropout: Share = Field(0.1, description="Dropout on token vectors and on the top layer.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="What is computed in; weights are always kept in float32. auto is bfloat16 on a GPU and where the "
        "processor has instructions for it, else float32.",
    )
    epochs: Count = Field(10, description="Times over the corpus, at most.")
    updates: Count | None = Field(None, description="Updates, at most.")
    time_budget: Seconds | None = Field(None, description="Time for everything, such as 90m; the decay fits into it.")
    evaluate_every: Count | None = Field(
        None, description="Updates between held-out figures; else every epoch, and every tenth of a time budget."
    )
    patience: Count = Field(3, description="Stop after so many held-out figures without a better one.")

    # The run.
    checkpoint_every: Seconds = Field(600.0, description="Time between checkpoints, such as 10m.")
    seed: Annotated[int, Field(ge=0)] = Field(1, description="Where all randomness comes from.")
    device: str = Field("cpu", description="Where to compute: cpu or cuda.")

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        widest = max(width for width, _ in self.filters)
        if widest > self.max_characters:
            raise ValueError(f"a filter of width {widest} does not fit into max_characters {self.max_characters}")
        if any(low >= high for low, high in pairwise(self.cutoffs)) or any(cut < 1 for cut in self.cutoffs):
            raise ValueError(f"cutoffs {self.cutoffs} must be positive and rise")
        if self.softmax == "adaptive" and not self.cutoffs:
            raise ValueError("softmax 'adaptive' needs cutoffs; give some, or use softmax 'full'")
        if self.layout == "rows" and self.encoder == "gated-cnn":
            raise ValueError("layout 'rows' carries state, which a gated-cnn has none of; use layout 'sentences'")
        return self


PRESETS: dict[Preset, dict[str, Any]] = {
    "tiny": {
        "filters": ((1, 32), (2, 32), (3, 64), (4, 128)),
        "hidden_dim": 256,
        "projection_dim": 64,
        "samples": 2048,
        "batch_tokens": 1024,
    },
    "small": {"batch_tokens": 1024},
    "medium": {"hidden_dim": 2048, "projection_dim": 256, "learning_rate": 1e-3},
    "original": {
        "hidden_dim": 4096,
        "projection_dim": 512,
        "highway_layers": 2,
        "vocabulary_size": 800_000,
        "softmax": "sampled",
        "layout": "rows",
        "optimizer": "adagrad",
        "learning_rate": 0.2,
        "decay": "none",
        "warmup": 0,
        "clip": 10.0,
    },
}
"""What each preset sets apart from the defaults; ``original`` is the recipe of Peters et al. (2018)."""

ARCHITECTURE = frozenset(
    (
        "characters",
        "max_characters",
        "character_dim",
        "filters",
        "highway_layers",
        "encoder",
        "layers",
        "hidden_dim",
        "projection_dim",
        "width",
    )
)
"""Settings that a model to start from has settled already."""


def settings_of(preset: Preset = "small", **given: Any) -> Settings:
    """A preset with some settings given otherwise; None stands for not given.

    Raises:
        InputError: A setting is unknown or its value is not possible.
    """
    if preset not in PRESETS:
        raise InputError(f"unknown preset {preset!r}; choose one of {', '.join(PRESETS)}")
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**{**PRESETS[preset], **chosen})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"][:1]))
        if first["type"] == "extra_forbidden":
            raise InputError(f"unknown setting {name!r}; there are {', '.join(Settings.model_fields)}") from None
        message = str(first["msg"]).removeprefix("Value error, ")
        raise InputError(f"setting {name}: {message}; got {first['input']!r}" if name else message) from None

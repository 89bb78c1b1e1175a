"""The settings of a biLM's training run, each described once, next to its field.

The command line, its help and the checks of values all come from these fields. Nothing here needs torch.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from polyseme.errors import InputError
from polyseme.models.config import CharacterEncoderConfig, EncoderKind, GatedCnnEncoderConfig, LstmEncoderConfig, Size
from polyseme.text.choices import Alphabet
from polyseme.train.choices import Preset, SoftmaxKind
from polyseme.train.engine.settings import Count, OptimizerKind, RunSettings, Share, check_settings

_PUBLISHED_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


def _pairs(value: object) -> object:
    """Filters as they are written on the command line: 1:32,2:32,3:64."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(tuple(int(number) for number in pair.split(":")) for pair in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} is not a list of filters; write width:count,width:count") from None


def _numbers(value: object) -> object:
    """Numbers separated by commas."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(int(number) for number in value.split(",")) if value else ()
    except ValueError:
        raise ValueError(f"{value!r} is not a list of numbers; write 2000,20000") from None


Filters = Annotated[tuple[tuple[Size, Size], ...], BeforeValidator(_pairs), Field(min_length=1)]
Numbers = Annotated[tuple[Size, ...], BeforeValidator(_numbers)]


class LmSettings(RunSettings):
    """The settings of a biLM's training run; sizes of the model have the bounds of its configuration."""

    # What a word is made of.
    characters: Alphabet = Field("bytes", description="What the model reads of a word.")
    max_characters: Annotated[int, CharacterEncoderConfig.model_fields["max_characters"]] = Field(
        50, description="Characters of a word, including two markers; longer words are truncated."
    )
    character_dim: Size = Field(16, description="Width of a character vector.")
    filters: Filters = Field(_PUBLISHED_FILTERS, description="Convolutions over characters, width:count each.")
    highway_layers: Annotated[int, CharacterEncoderConfig.model_fields["highway_layers"]] = Field(
        1, description="Highway layers after the convolutions."
    )

    word_input: Literal["none", "frozen", "tuned"] = Field(
        "none",
        description="Read whole words instead of characters: the static vectors of --vectors as they are (frozen), or "
        "trained further (tuned).",
    )
    teaching_updates: Annotated[int, Field(ge=0)] = Field(
        500,
        description="Updates of 1,024 words in which the token encoder first learns the static vectors of --vectors, "
        "within a fifth of a time budget.",
    )

    # The network above the words.
    encoder: EncoderKind = Field("lstm", description="What reads the context.")
    layers: Annotated[int, LstmEncoderConfig.model_fields["layers"]] = Field(2, description="Layers of each direction.")
    hidden_dim: Size = Field(1024, description="Cells (gated units of a gated-cnn) of a layer.")
    projection_dim: Size = Field(128, description="Width of a token vector and of each direction.")
    width: Annotated[int, GatedCnnEncoderConfig.model_fields["width"]] = Field(
        5, description="Tokens that one convolution of a gated-cnn covers."
    )
    freeze: Literal["nothing", "tokens", "layers", "encoder"] = Field(
        "nothing",
        description="What stays as it is: the token encoder, also all layers but the top one, or all but the softmax.",
    )

    # The words it predicts.
    vocabulary_size: Count = Field(100_000, description="Words to predict, at most; the others are `<UNK>`.")
    min_count: Count = Field(2, description="A word seen less often is `<UNK>`.")
    softmax: Literal["auto", SoftmaxKind] = Field(
        "auto",
        description="How words are predicted; auto is full up to 20,000 words or twice the samples, else sampled.",
    )
    samples: Count = Field(8192, description="Negative words of the sampled softmax, shared by a batch.")
    output_bias: Literal["zero", "counts"] = Field(
        "zero",
        description="Where the biases of the words to predict begin: at 0, or at the logarithm of how often each word "
        "occurs.",
    )
    cutoffs: Numbers = Field(
        (4000, 20_000, 100_000),
        description="The ranks of the words at which the clusters of the adaptive softmax begin.",
    )

    # How text is laid out.
    layout: Literal["sentences", "rows"] = Field(
        "sentences",
        description="Each sentence on its own, as in embedding, or rows of running text with carried state.",
    )
    batch_tokens: Annotated[int, Field(ge=2)] = Field(2048, description="Tokens of a batch of sentences.")
    max_sentence: Annotated[int, Field(ge=2)] = Field(
        400, description="Longer sentences are divided into pieces of this many tokens."
    )
    rows: Count = Field(128, description="Rows of running text in a batch.")
    steps_a_row: Annotated[int, Field(ge=2)] = Field(20, description="Tokens of a row over which gradients flow.")
    heldout_tokens: Count = Field(
        20_000, description="Held-out text that is measured, at most; without --heldout also at most 5% of the corpus."
    )

    case_noise: Share = Field(
        0.0,
        description="Read this share of the sentences in lower case, in upper case or with capital first letters; the "
        "words to predict stay as they are.",
    )

    # How it learns.
    optimizer: OptimizerKind = Field(
        "adamw",
        description="The optimiser; muon is Muon for matrices between layers and adamw for the rest; adagrad is as in "
        "the original recipe, on the loss of --steps-a-row predictions.",
    )
    dropout: Share = Field(0.1, description="Dropout on token vectors and on the top layer.")
    context_weight: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="Weight of a second loss, in which content words also predict others 2 to 10 places away in their "
        "sentence, such as 0.3; 0 is without.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "LmSettings":
        widest = max(width for width, _ in self.filters)
        if widest > self.max_characters:
            raise ValueError(f"a filter of width {widest} does not fit into max_characters {self.max_characters}")
        if any(low >= high for low, high in pairwise(self.cutoffs)) or any(cut < 1 for cut in self.cutoffs):
            raise ValueError(f"cutoffs {self.cutoffs} must be positive and rise")
        if self.softmax == "adaptive" and not self.cutoffs:
            raise ValueError("softmax 'adaptive' needs cutoffs; give some, or use softmax 'full'")
        if self.softmax == "adaptive" and self.output_bias == "counts":
            raise ValueError("output_bias 'counts' is for a full or sampled softmax; leave it out with 'adaptive'")
        if self.context_weight and (self.layout == "rows" or self.softmax == "adaptive"):
            raise ValueError("context_weight is for layout 'sentences' and a full or sampled softmax; leave it out")
        if self.layout == "rows" and self.encoder == "gated-cnn":
            raise ValueError("layout 'rows' carries state, which a gated-cnn has none of; use layout 'sentences'")
        return self


PRESETS: dict[Preset, dict[str, object]] = {
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
"""What each preset changes of the defaults; ``original`` is the recipe of Peters et al. (2018)."""

ARCHITECTURE = frozenset(
    (
        "characters",
        "max_characters",
        "character_dim",
        "filters",
        "highway_layers",
        "word_input",
        "encoder",
        "layers",
        "hidden_dim",
        "projection_dim",
        "width",
    )
)
"""Settings that are fixed by a model that training starts from."""

GROUPS: dict[str, tuple[str, ...]] = {
    "Common settings": (
        "time_budget",
        "epochs",
        "batch_tokens",
        "learning_rate",
        "dropout",
        "vocabulary_size",
        "min_count",
        "characters",
        "precision",
        "device",
        "threads",
    ),
    "Size of the model": (
        "encoder",
        "layers",
        "hidden_dim",
        "projection_dim",
        "width",
        "character_dim",
        "max_characters",
        "filters",
        "highway_layers",
        "word_input",
    ),
    "Words to predict": ("softmax", "samples", "cutoffs", "output_bias"),
    "Batches": ("layout", "max_sentence", "rows", "steps_a_row", "accumulate", "case_noise"),
    "Learning": (
        "optimizer",
        "weight_decay",
        "warmup",
        "decay",
        "decay_share",
        "average",
        "clip",
        "context_weight",
        "teaching_updates",
        "freeze",
        "seed",
    ),
    "Stopping, evaluation and checkpoints": (
        "updates",
        "patience",
        "evaluate_every",
        "heldout_tokens",
        "checkpoint_every",
    ),
}
"""How the settings are grouped in help and cards, the common ones first."""


def settings_of(preset: Preset = "small", **given: object) -> LmSettings:
    """A preset with some settings changed; None means not given.

    Raises:
        InputError: A setting is unknown or its value is not possible.

    Example:
        >>> settings_of("tiny", time_budget="90m").time_budget
        5400.0
    """
    if preset not in PRESETS:
        raise InputError(f"unknown preset {preset!r}; choose one of {', '.join(PRESETS)}")
    return check_settings(LmSettings, {**PRESETS[preset], **given_only(given)})


def given_only(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings without those that were left open (None)."""
    return {name: value for name, value in settings.items() if value is not None}

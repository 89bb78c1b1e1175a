"""Settings of training a translator, each described once, next to its field."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from polyseme.train.engine.settings import Count, RunSettings, Share

FULL_UP_TO = 8000
"""A vocabulary of up to this many words is cheap enough for the full softmax."""


class TranslateSettings(RunSettings):
    """Everything that can be set about training a translator, with defaults for some 100,000 short pairs."""

    # How long, and how it learns.
    epochs: Count = Field(30, description="Passes over the training pairs, at most.")
    learning_rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="The highest learning rate.")
    dropout: Share = Field(0.2, description="Dropout between layers, on word vectors and on what the softmax reads.")
    label_smoothing: Share = Field(
        0.0, description="Share of the probability that is spread over all words; needs the full softmax."
    )

    optimizer: Literal["adamw", "adagrad"] = Field("adamw", description="The optimiser.")

    # The network.
    encoder_dim: Count = Field(250, description="Cells of each direction; a CoVe vector has twice as many numbers.")
    encoder_layers: Annotated[int, Field(ge=1, le=8)] = Field(2, description="Layers of the encoder.")
    decoder_dim: Count = Field(400, description="Width of the decoder and of its word vectors.")

    # The words.
    vocabulary_size: Count = Field(20_000, description="Target words to predict, at most; the others are `<UNK>`.")
    min_count: Count = Field(2, description="A target word seen less often is `<UNK>`.")
    source_words: Count = Field(
        100_000,
        description="Source words whose vectors the model keeps, at most: those of the text, then the table's first.",
    )
    softmax: Literal["auto", "full", "sampled"] = Field(
        "auto",
        description="How words are predicted; auto is full up to 8,000 words or twice the samples, else sampled.",
    )
    samples: Count = Field(4096, description="Negative words of the sampled softmax, shared by a batch.")

    # The pairs.
    batch_tokens: Annotated[int, Field(ge=2)] = Field(2000, description="Tokens of both sides in a batch.")
    max_length: Annotated[int, Field(ge=1)] = Field(60, description="Pairs with a longer side are left out.")
    heldout_pairs: Count = Field(
        2000, description="Pairs that are held out, at most; without --heldout also at most 5% of all."
    )
    bleu_pairs: Count = Field(
        300, description="Held-out pairs that are translated at each evaluation; at the end all are."
    )

    @model_validator(mode="after")
    def _consistent(self) -> "TranslateSettings":
        if self.label_smoothing and self.softmax == "sampled":
            raise ValueError("label_smoothing needs the full softmax; use softmax 'full', or no label_smoothing")
        return self

    def sampled(self, words: int) -> bool:
        """Whether the softmax over this many words is sampled while training."""
        if self.softmax != "auto":
            return self.softmax == "sampled"
        return not self.label_smoothing and words > max(FULL_UP_TO, 2 * self.samples)


GROUPS: dict[str, tuple[str, ...]] = {
    "Common settings": (
        "time_budget",
        "epochs",
        "batch_tokens",
        "learning_rate",
        "dropout",
        "vocabulary_size",
        "min_count",
        "precision",
        "threads",
        "device",
    ),
    "Size of the model": ("encoder_dim", "encoder_layers", "decoder_dim", "source_words"),
    "Words to predict": ("softmax", "samples", "label_smoothing"),
    "Pairs": ("max_length", "accumulate"),
    "Learning": ("optimizer", "weight_decay", "warmup", "decay", "decay_share", "average", "clip", "seed"),
    "Stopping, evaluation and checkpoints": (
        "updates",
        "patience",
        "evaluate_every",
        "heldout_pairs",
        "bleu_pairs",
        "checkpoint_every",
    ),
}
"""How the settings are grouped in help and cards, the common ones first."""

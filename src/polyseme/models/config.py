"""The settings of a biLM, as written in the ``config.json`` of a model folder."""

from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from polyseme.nn.choices import Activation
from polyseme.text.choices import BY_DICTIONARY, Alphabet, Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation

Size = Annotated[int, Field(ge=1, le=1 << 20)]
Rows = Annotated[int, Field(ge=1, le=1 << 27)]
Clip = Annotated[float, Field(gt=0, le=1e30)] | None
MOST_FEATURES = 1 << 20
EncoderKind = Literal["lstm", "gru", "gated-cnn"]
"""What reads the context of a token."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CharacterEncoderConfig(_Part):
    """A token encoder that reads characters, and optionally word vectors as well, if ``word_dim`` is not 0."""

    kind: Literal["characters"] = "characters"
    alphabet: Alphabet = Field(description="What a character is: a UTF-8 byte or a code point.")
    characters: Rows = Field(description="Rows of the character embedding.")
    character_dim: Size = Field(description="Width of a character vector.")
    max_characters: Annotated[int, Field(ge=3, le=4096)] = Field(
        default=50, description="Characters of a token with its two markers; longer tokens are cut."
    )
    filters: Annotated[tuple[tuple[Size, Size], ...], Field(min_length=1, max_length=256)] = Field(
        description="Width and count of each convolution."
    )
    activation: Activation = Field(default="relu", description="After the maximum over positions.")
    highway_layers: Annotated[int, Field(ge=0, le=64)] = Field(description="Highway layers after the filters.")
    padding_id: Annotated[int, Field(ge=0)] = Field(
        description="The character that fills a token up to its fixed length."
    )
    words: Annotated[int, Field(ge=0, le=1 << 27)] = Field(default=0, description="Rows of the word embedding.")
    word_dim: Annotated[int, Field(ge=0, le=1 << 20)] = Field(
        default=0, description="Width of a word vector, 0 for none."
    )

    @model_validator(mode="after")
    def _consistent(self) -> "CharacterEncoderConfig":
        widest = max(width for width, _ in self.filters)
        if widest > self.max_characters:
            raise ValueError(f"a filter of width {widest} does not fit into {self.max_characters} characters")
        features = sum(count for _, count in self.filters)
        if features > MOST_FEATURES:
            raise ValueError(f"{features:,} filters in all, expected at most {MOST_FEATURES:,}")
        if (self.words == 0) != (self.word_dim == 0):
            raise ValueError(f"words={self.words} and word_dim={self.word_dim}: both must be 0, or neither")
        if self.padding_id >= self.characters:
            raise ValueError(f"padding_id {self.padding_id} is not one of {self.characters} characters")
        return self

    @property
    def id_bounds(self) -> list[int]:
        """What each id of a word must be below."""
        return [self.words] * (self.words > 0) + [self.characters] * self.max_characters


class WordEncoderConfig(_Part):
    """A token encoder that is a table of word vectors."""

    kind: Literal["words"] = "words"
    words: Rows = Field(description="Rows of the table.")

    @property
    def id_bounds(self) -> list[int]:
        """What the only id of a word must be below."""
        return [self.words]


class LstmEncoderConfig(_Part):
    """Two stacks of projected LSTM layers, one for each direction."""

    kind: Literal["lstm"] = "lstm"
    layers: Annotated[int, Field(ge=1, le=64)] = Field(description="LSTM layers of each direction.")
    hidden_dim: Size = Field(description="Cells of a layer.")
    cell_clip: Clip = Field(default=3.0, description="Bound of the cells.")
    projection_clip: Clip = Field(default=3.0, description="Bound of a layer's output.")
    skip_connections: bool = Field(
        default=True, description="Add a layer's input to its output from the second layer on."
    )
    forget_bias: float = Field(default=1.0, ge=-1e4, le=1e4, description="Added to the stored bias of the forget gate.")


class GruEncoderConfig(_Part):
    """Two stacks of GRU layers with projected outputs, one for each direction."""

    kind: Literal["gru"] = "gru"
    layers: Annotated[int, Field(ge=1, le=64)] = Field(description="GRU layers of each direction.")
    hidden_dim: Size = Field(description="Cells of a layer.")


class GatedCnnEncoderConfig(_Part):
    """Two stacks of gated convolutions over the past and the future of a token."""

    kind: Literal["gated-cnn"] = "gated-cnn"
    layers: Annotated[int, Field(ge=1, le=64)] = Field(description="Convolutions of each direction.")
    hidden_dim: Size = Field(description="Gated units of a layer.")
    width: Annotated[int, Field(ge=2, le=64)] = Field(description="Tokens a convolution sees.")


class LearntTextConfig(_Part):
    """What a model's settings say about the text that it learnt from."""

    tokenize: Tokenizer | None = Field(
        default=None,
        description="How the text that the model learnt from was tokenised; None if it came tokenised.",
    )
    dictionary: tuple[str, ...] | None = Field(
        default=None, description="The words that the tokeniser kept whole in that text."
    )

    @property
    def segmentation(self) -> Segmentation:
        """How the text that the model was trained on was tokenised."""
        return Segmentation(self.tokenize, Dictionary(self.dictionary) if self.dictionary else None)

    @model_validator(mode="after")
    def _dictionary_fits(self) -> Self:
        if self.dictionary is not None and (self.tokenize not in BY_DICTIONARY or not self.dictionary):
            known = ", ".join(BY_DICTIONARY)
            raise ValueError(
                f"a dictionary of {len(self.dictionary)} words with tokenize {self.tokenize!r}, not {known}"
            )
        return self


class BiLMConfig(LearntTextConfig):
    """Everything needed to build a biLM before its weights are read."""

    format: Literal["polyseme"] = "polyseme"
    version: Literal[1] = 1
    projection_dim: Size = Field(description="Width of a token vector and of each direction.")
    token_encoder: CharacterEncoderConfig | WordEncoderConfig = Field(discriminator="kind")
    encoder: LstmEncoderConfig | GruEncoderConfig | GatedCnnEncoderConfig = Field(discriminator="kind")
    vocabulary_size: Annotated[int, Field(ge=0, le=1 << 27)] = Field(
        default=0, description="Number of words of the softmax, 0 if the model has none."
    )
    softmax_cutoffs: tuple[Size, ...] = Field(
        default=(), description="Where the clusters of an adaptive softmax begin; none for a full softmax."
    )
    release: str | None = Field(default=None, description="Which release of a named model this is, such as 2.")
    source: str = Field(default="polyseme", description="The format the weights came from.")
    source_options: dict[str, Any] | None = Field(
        default=None, description="The foreign options as they came, so that they can be written back."
    )

    def computation(self) -> str:
        """Every setting that the layers depend on, as text."""
        return self.model_dump_json(include={"projection_dim", "token_encoder", "encoder"})

    @model_validator(mode="after")
    def _cutoffs_fit(self) -> "BiLMConfig":
        bounds = (*self.softmax_cutoffs, self.vocabulary_size)
        if self.softmax_cutoffs and any(low >= high for low, high in pairwise(bounds)):
            raise ValueError(
                f"softmax cut-offs {', '.join(map(str, self.softmax_cutoffs))} must rise and stay below the "
                f"vocabulary of {self.vocabulary_size} words"
            )
        return self

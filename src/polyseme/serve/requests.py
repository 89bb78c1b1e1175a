"""What may a request hold? One record for each endpoint."""

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema

from polyseme.embed.choices import LAYER_NAMES, LayerName, Pool
from polyseme.files.json_file import problems
from polyseme.index.choices import Words
from polyseme.serve.refusal import Refusal

Tokens = list[str]
Input = list[str | Tokens]
"""Texts (strings) or sentences (lists of tokens), never both."""

_TEXTS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_TOKEN_LISTS = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "minItems": 1}


def _texts(value: object) -> Input:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    raise ValueError(f"expected a text or a list of texts, got {_shown(value)}")


def _texts_or_tokens(value: object) -> Input:
    if isinstance(value, list) and value and all(isinstance(item, list) for item in value):
        for number, sentence in enumerate(value):
            if not all(isinstance(token, str) for token in sentence):
                raise ValueError(f"sentence {number} is {_shown(sentence)}, expected a list of tokens, each a string")
        return value
    try:
        return _texts(value)
    except ValueError:
        raise ValueError(
            f"expected a text, a list of texts or a list of token lists [['The', 'bank']], got {_shown(value)}"
        ) from None


def _sentence(value: object) -> str | Tokens:
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f"expected a sentence with a word in [brackets], or a list of tokens, got {_shown(value)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _layers(value: object) -> LayerName | int:
    for name in LAYER_NAMES:
        if value == name:
            return name
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000:
        return value
    raise ValueError(f"expected {', '.join(map(repr, LAYER_NAMES))} or the number of a layer, got {_shown(value)}")


Texts = Annotated[Input, PlainValidator(_texts), WithJsonSchema(_TEXTS)]
TextsOrTokens = Annotated[
    Input, PlainValidator(_texts_or_tokens), WithJsonSchema({"oneOf": [*_TEXTS["oneOf"], _TOKEN_LISTS]})
]
SentenceField = Annotated[
    str | Tokens,
    PlainValidator(_sentence),
    WithJsonSchema({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Layers = Annotated[
    LayerName | int,
    PlainValidator(_layers),
    WithJsonSchema({"oneOf": [{"enum": [*LAYER_NAMES]}, {"type": "integer", "minimum": 0}]}),
]
PoolName = Pool | Literal["none"]
Encoding = Literal["float", "base64"]
Count = Annotated[int, Field(ge=1, le=1000)]


class Request(BaseModel):
    """What all requests share: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmbeddingsRequest(Request):
    """Vectors, in OpenAI's shape. ``layers`` and ``pool`` are an extension."""

    input: TextsOrTokens
    model: str | None = Field(
        default=None, description="The name of the model, if a request shall be refused by any other."
    )
    encoding_format: Encoding = "float"
    dimensions: int | None = Field(
        default=None, description="Vectors are not shortened: this can only be their length."
    )
    user: str | None = Field(default=None, description="Is not read.")
    layers: Layers | None = Field(
        default=None, description="all, mean, top or a number; by default as the server was started."
    )
    pool: PoolName = Field(
        default="mean", description="One vector per text over its tokens; or none: one for each token."
    )


class EmbedRequest(Request):
    """Vectors, in the shape of text-embeddings-inference."""

    inputs: Texts
    normalize: bool = Field(default=True, description="Scale each vector to length 1.")
    truncate: bool | None = Field(default=None, description="Texts are read whole, so nothing is cut off.")
    truncation_direction: Literal["left", "right", "Left", "Right"] | None = None
    prompt_name: None = None
    dimensions: int | None = Field(
        default=None, description="Vectors are not shortened: this can only be their length."
    )


class InputRequest(Request):
    """Texts, or sentences of tokens."""

    input: TextsOrTokens


class SubstitutesRequest(Request):
    """A place in a sentence."""

    sentence: SentenceField = Field(description="With one word in [brackets], or tokens and a position.")
    position: int | None = Field(default=None, ge=0, description="Which of the tokens, from 0.")
    k: Count = 10


class NearestRequest(SubstitutesRequest):
    """A place in a sentence, and which occurrences of the index to compare it with."""

    words: Words = "any"
    group: bool = Field(default=False, description="Only the best occurrence of each word.")
    document: str | None = Field(default=None, description="Only in this document, or file where none is named.")
    label: str | None = Field(default=None, description="Only in the text that was indexed with this label.")
    exact: bool = Field(default=False, description="Compare with every vector.")
    whiten: bool = False


class SimilarRequest(Request):
    """A word."""

    word: str
    k: Count = 10
    least: int = Field(default=5, ge=1, le=1 << 31, description="Only words with as many occurrences in the index.")
    by: Literal["contexts", "model"] | None = Field(
        default=None,
        description="Contexts of the index, or the model's own word vectors; by default the index if there is one.",
    )


class SensesRequest(Request):
    """A word of the index."""

    word: str
    senses: int | None = Field(default=None, ge=1, le=50, description="How many; by default the number is found.")
    k: int = Field(default=3, ge=0, le=100, description="Sentences per sense.")
    whiten: bool = False


class PredictRequest(Request):
    """Texts or sentences for the task; or examples, as JSON lines of the task hold them."""

    input: TextsOrTokens | None = None
    examples: list[dict[str, object]] | None = Field(
        default=None, min_length=1, description="For tasks with two texts."
    )


Asked = TypeVar("Asked", bound=Request)


def parse(kind: type[Asked], body: bytes) -> Asked:
    """The record in the body of a request.

    Raises:
        Refusal: With the first fault, in one line.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        if fault["type"] == "json_invalid":
            raise Refusal(422, "invalid_json", f"the body is not JSON: {fault['msg'].partition(': ')[2]}") from None
        place, problem = next(problems(error))
        raise Refusal(422, "invalid_request", f"{place}: {problem}" if place else problem) from None

"""What stored vectors were made with, as Parquet files and the manifest of a folder of them tell it."""

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from polyseme.embed.choices import NumberType, Pool
from polyseme.embed.layers import LayerChoice
from polyseme.embed.source import VectorSource
from polyseme.files.whole import JSON
from polyseme.nn.choices import Precision
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.text.choices import Tokenizer
from polyseme.text.segmentation import Segmentation

MANIFEST = "_manifest.json"
"""The manifest of a folder of vectors. Readers of Parquet folders pass over names that begin with an underscore."""
RECORD = b"polyseme"
"""The key of a `VectorsRecord` in the metadata of a Parquet file."""
PART = b"polyseme-part"
"""The key of a `PartRecord` in the metadata of a Parquet file; written last."""

_Count = Annotated[int, Field(ge=0)]


class VectorsRecord(BaseModel):
    """What vectors depend on, and what is needed to use them again."""

    model_config = ConfigDict(frozen=True)

    model: str
    """The fingerprint of the source."""
    model_path: str | tuple[str, str]
    """Where the source was; empty if it was not opened from a file."""
    precision: Precision
    source_layers: Annotated[int, Field(ge=1)]
    """How many layers the source has."""
    layers: str
    """Which of them are stored: all, mean, top, the number of one, or mix."""
    mix: dict[str, JSON] | None = None
    """The weights of a mix."""
    pool: Pool | None
    dtype: NumberType
    dim: Annotated[int, Field(ge=1)]
    stateful: bool
    tokenize: Tokenizer | None
    """How the text was tokenised; None if it was tokenised already."""
    dictionary: list[str] | None
    """The words that the tokeniser kept whole."""

    @classmethod
    def of(
        cls,
        source: VectorSource,
        segmentation: Segmentation,
        *,
        layers: LayerChoice,
        pool: Pool | None,
        dtype: NumberType,
    ) -> "VectorsRecord":
        """The record of vectors that a source is going to make."""
        path = source.path or ""
        words = segmentation.dictionary
        return cls(
            model=source.fingerprint(),
            model_path=(str(path[0]), str(path[1])) if isinstance(path, tuple) else str(path),
            precision=source.precision,
            source_layers=source.layers,
            layers="mix" if isinstance(layers, ScalarMix) else str(layers),
            mix=mix_record(layers),
            pool=pool,
            dtype=dtype,
            dim=source.dim,
            stateful=source.stateful,
            tokenize=segmentation.tokenizer,
            dictionary=None if words is None else [*words.words],
        )

    def as_metadata(self) -> dict[bytes, bytes]:
        """As the metadata of a Parquet file holds it."""
        return {RECORD: json.dumps(self.model_dump()).encode()}


def mix_record(layers: LayerChoice) -> dict[str, JSON] | None:
    """The weights of a mix as JSON holds them; None for any other choice."""
    if not isinstance(layers, ScalarMix):
        return None
    weights: dict[str, JSON] = {name: tensor.tolist() for name, tensor in layers.state_dict().items()}
    return {**weights, "layer_norm": layers.layer_norm}


class PartRecord(BaseModel):
    """One part of the vectors: a Parquet file, made from a stretch of one input file."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=r"^[^/\\]+\.parquet$")]
    """Of the Parquet file."""
    file: str
    """The input file."""
    start: _Count
    """The first byte of the stretch."""
    stop: _Count
    """The byte after its last."""
    sentences: _Count
    tokens: _Count
    lines: _Count
    """Lines of the stretch."""
    longest: _Count
    """Tokens of the longest sentence."""
    long: _Count = 0
    """How many sentences are longer than usual."""
    invalid: _Count = 0
    """Byte sequences that are not UTF-8 and were replaced."""
    nulls: _Count = 0
    """NUL characters that were replaced."""
    first_repair: str | None = None
    odd: dict[str, tuple[int, str]] = {}
    """What is odd in the text: how often, and where first."""
    instruction_set: str
    """What computed it; parts with the same value agree to the last bit."""


class StoredPart(PartRecord):
    """A part with its place among the others."""

    first_sentence: _Count
    """The number of its first sentence in the whole corpus."""
    first_line: _Count
    """The number of lines of the input file before it."""
    size: _Count
    """Bytes of the Parquet file."""


class VectorsManifest(BaseModel):
    """What ``_manifest.json`` holds: written last, so a folder with one is complete."""

    model_config = ConfigDict(frozen=True)

    format: Literal["polyseme-vectors"] = "polyseme-vectors"
    version: Literal[1] = 1
    made_with: VectorsRecord
    sentences: _Count
    tokens: _Count
    instruction_sets: dict[str, int]
    """How many parts each instruction set computed."""
    parts: list[StoredPart]
    """In the order of the text."""


def arranged(parts: "list[tuple[PartRecord, int]]") -> list[StoredPart]:
    """Parts with their sizes, in the order of the text, as parts that know their place in it."""
    placed: list[StoredPart] = []
    sentence = line = 0
    for part, size in parts:
        line = line if part.start else 0
        places = {"first_sentence": sentence, "first_line": line, "size": size}
        placed.append(StoredPart.model_validate({**part.model_dump(), **places}))
        sentence, line = sentence + part.sentences, line + part.lines
    return placed

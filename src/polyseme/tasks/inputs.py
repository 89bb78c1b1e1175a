"""The vectors that a task model reads, at its input and at its output.

Shapes: N tokens of a batch in flat order, U distinct words, L layers, D width of a source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.models.combined_layers import CombinedLayers, LearnedMix, Part
from polyseme.nn.char_cnn import CharacterCnn
from polyseme.tasks.choices import VectorLayers, VectorPlace
from polyseme.tasks.lexicon import CASES
from polyseme.tasks.tuned import TunedNetwork
from polyseme.tasks.words import Words
from polyseme.text.characters import BYTE_PADDING_ID

INPUT, OUTPUT = "input", "output"


@dataclass(frozen=True)
class SourceShape:
    """What `Inputs` knows of a vector source.

    Attributes:
        layers: How many layers a contextual source gives, L; 0 for static vectors.
        dim: The width D of a vector.
        rows: Rows of a static source that learn.
    """

    layers: int
    dim: int
    rows: int = 0


class Vectors(NamedTuple):
    """The vectors of a batch, in flat order."""

    input: Tensor
    """(N, input_dim)"""
    output: Tensor
    """(N, output_dim); no column if nothing is read there."""


class Inputs(nn.Module):
    """Learned word vectors, case, characters, static and contextual vectors, side by side.

    Args:
        words: Words that have a learned vector, besides the unknown one.
        word_dim: Width of the learned vectors; 0 for none.
        casing_dim: Width of the vector for a word's case; 0 for none.
        character_dim: Width of a character vector.
        character_filters: How many; 0 for no characters.
        character_width: Bytes that a filter covers.
        sources: The vector sources, in order.
        elmo_at: Where contextual sources are read. Everything else is read at the input.
        layers: A mix of all layers of a contextual source, or the top one.
        tuned: Networks that learn with the task, by the number of their source.
    """

    def __init__(
        self,
        *,
        words: int,
        word_dim: int,
        casing_dim: int,
        character_dim: int,
        character_filters: int,
        character_width: int,
        sources: Sequence[SourceShape] = (),
        elmo_at: VectorPlace = "input",
        layers: VectorLayers = "all",
        tuned: Mapping[int, TunedNetwork] | None = None,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words + 1, word_dim) if word_dim else None
        self.cases = nn.Embedding(CASES, casing_dim) if casing_dim else None
        self.characters = _characters(character_dim, character_filters, character_width) if character_filters else None
        self.static = nn.ModuleDict(
            {source_part(number): nn.Embedding(one.rows, one.dim) for number, one in enumerate(sources) if one.rows}
        )
        self.tuned = nn.ModuleDict({source_part(number): network for number, network in (tuned or {}).items()})
        self._top = layers == "top"
        self._static_parts = [source_part(number) for number, one in enumerate(sources) if not one.layers]
        self._contextual_parts = [source_part(number) for number, one in enumerate(sources) if one.layers]
        parts = self._own_parts() | _source_parts(sources, elmo_at, layers)
        outputs = [place for place in (INPUT, OUTPUT) if any(place in (part.outputs or ()) for part in parts.values())]
        if INPUT not in outputs:
            raise InputError(
                "the model would read nothing at its input: use elmo_at 'input' or 'both', or give it word vectors, "
                "case or characters"
            )
        self.combined = CombinedLayers(parts, outputs=outputs)
        self.input_dim = self.combined.dim(INPUT)
        self.output_dim = self.combined.dim(OUTPUT) if OUTPUT in outputs else 0

    def forward(self, words: Words) -> Vectors:
        """The vectors of a batch."""
        layers: dict[str, Sequence[Tensor]] = {}
        if self.words is not None:
            layers["words"] = [self.words(words.ids)[words.types]]
        if self.cases is not None:
            layers["cases"] = [self.cases(words.cases)[words.types]]
        if self.characters is not None:
            layers["characters"] = [self.characters(words.characters)[words.types]]
        for name, vectors, rows in zip(self._static_parts, words.static, words.rows, strict=True):
            layers[name] = [self._static(name, vectors, rows)[words.types]]
        for name, vectors in zip(self._contextual_parts, words.contextual, strict=True):
            layers[name] = self._tuned(name, words, vectors) if name in self.tuned else vectors.unbind(dim=1)
        combined = self.combined(layers, torch.ones(len(words.types), device=words.types.device))
        first = combined[INPUT]
        return Vectors(first, combined.get(OUTPUT, first.new_empty(len(first), 0)))

    def penalty(self, strength: float) -> Tensor:
        """What keeps the learned mixes near the mean; see `ScalarMix`."""
        return self.combined.penalty(strength)

    def learned_mixes(self) -> list[LearnedMix]:
        """The shares of the layers that every place has learnt for every contextual source."""
        return self.combined.learned_mixes()

    def _own_parts(self) -> dict[str, Part]:
        """What the task itself learns of words."""
        widths = {
            "words": self.words.embedding_dim if self.words is not None else 0,
            "cases": self.cases.embedding_dim if self.cases is not None else 0,
            "characters": self.characters.dim if self.characters is not None else 0,
        }
        return {name: Part(layers=1, dim=dim, outputs=(INPUT,)) for name, dim in widths.items() if dim}

    def _tuned(self, name: str, words: Words, ids: Tensor) -> list[Tensor]:
        """The layers of a network that learns: (N, D) each."""
        found: list[Tensor] = self.tuned[name](ids, words.types, words.lengths)
        return found[-1:] if self._top else found

    def _static(self, name: str, vectors: Tensor, rows: Tensor) -> Tensor:
        """The vectors of distinct words (U, D): those that learn from their table, the others as they are given."""
        if name not in self.static:
            return vectors
        learnt = self.static[name](rows.clamp(min=0))
        return torch.where((rows >= 0).unsqueeze(1), learnt, vectors)


def source_part(number: int) -> str:
    """The name of a source among the parts of the combined vectors."""
    return f"vectors{number}"


def _source_parts(sources: Sequence[SourceShape], elmo_at: VectorPlace, layers: VectorLayers) -> dict[str, Part]:
    """What each source gives: static vectors at the input, contextual ones where they are wanted."""
    places = (INPUT, OUTPUT) if elmo_at == "both" else (elmo_at,)
    parts: dict[str, Part] = {}
    for number, one in enumerate(sources):
        count = 1 if layers == "top" else max(1, one.layers)
        use: Literal["top", "mix"] = "mix" if count > 1 else "top"
        parts[source_part(number)] = Part(
            layers=count, dim=one.dim, use=use, outputs=places if one.layers else (INPUT,)
        )
    return parts


def _characters(dim: int, filters: int, width: int) -> CharacterCnn:
    return CharacterCnn(
        characters=BYTE_PADDING_ID + 1,
        character_dim=dim,
        filters=((width, filters),),
        activation="relu",
        padding_id=BYTE_PADDING_ID,
    )

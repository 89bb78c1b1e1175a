"""Context-free encoders: the ids of a word to one vector, layer 0 of the biLM."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.nn.char_cnn import CharacterCnn
from polyseme.nn.choices import Activation
from polyseme.nn.highway import Highway
from polyseme.nn.linear import linear


class TokenEncoder(nn.Module, ABC):
    """Turns the ids of words (U, W) into vectors (U, P); W is the width of the ids of one word."""

    dim: int

    @abstractmethod
    def forward(self, ids: Tensor) -> Tensor:
        """Encode words."""


class CharacterTokenEncoder(TokenEncoder):
    """Character convolutions, highway layers and a projection; and a word vector as well if ``words`` is not 0.

    Ids are (U, C), or (U, 1 + C) with the word's own id first if there are word vectors.
    """

    def __init__(
        self,
        *,
        dim: int,
        characters: int,
        character_dim: int,
        filters: Sequence[tuple[int, int]],
        activation: Activation,
        padding_id: int,
        highway_layers: int,
        words: int = 0,
        word_dim: int = 0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.characters = CharacterCnn(
            characters=characters,
            character_dim=character_dim,
            filters=filters,
            activation=activation,
            padding_id=padding_id,
        )
        self.highways = nn.ModuleList(Highway(self.characters.dim) for _ in range(highway_layers))
        self.words = nn.Embedding(words, word_dim) if word_dim else None
        self.projection = nn.Linear(word_dim + self.characters.dim, dim)

    def forward(self, ids: Tensor) -> Tensor:
        """Encode words: (U, C) or (U, 1 + C) to (U, P)."""
        features = self.characters(ids if self.words is None else ids[:, 1:])  # (U, F)
        for highway in self.highways:
            features = highway(features)
        if self.words is not None:
            features = torch.cat([self.words(ids[:, 0].long()), features], dim=1)
        return linear(features, self.projection.weight, self.projection.bias)


class WordTokenEncoder(TokenEncoder):
    """A table of word vectors; ids are (U, 1)."""

    def __init__(self, *, dim: int, words: int) -> None:
        super().__init__()
        self.dim = dim
        self.words = nn.Embedding(words, dim)

    def forward(self, ids: Tensor) -> Tensor:
        """Look words up: (U, 1) to (U, P)."""
        vectors: Tensor = self.words(ids[:, 0].long())
        return vectors

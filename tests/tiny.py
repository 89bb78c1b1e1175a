"""Tiny random models for tests that need no golden arrays."""

import torch

from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig, LstmEncoderConfig, WordEncoderConfig
from polyseme.models.model import Model
from polyseme.text.characters import ByteCharacters, WholeWords
from polyseme.text.vocabulary import Vocabulary

WORDS = ("<S>", "</S>", "<UNK>", "the", "river", "bank", "money", "of", "play", "a")


def tiny_config(*, vocabulary_size: int = 0, skip_connections: bool = True, clip: float = 1.0) -> BiLMConfig:
    return BiLMConfig(
        projection_dim=6,
        token_encoder=CharacterEncoderConfig(
            alphabet="bytes",
            characters=262,
            character_dim=4,
            filters=((1, 4), (2, 6), (3, 5)),
            highway_layers=1,
            padding_id=261,
        ),
        encoder=LstmEncoderConfig(
            layers=2, hidden_dim=10, cell_clip=clip, projection_clip=clip, skip_connections=skip_connections
        ),
        vocabulary_size=vocabulary_size,
    )


def tiny_model(*, seed: int = 0, softmax: bool = True, **options: object) -> Model:
    """A byte model with random weights and, unless told otherwise, a softmax over `WORDS`."""
    config = tiny_config(vocabulary_size=len(WORDS) if softmax else 0, **options)  # type: ignore[arg-type]
    torch.manual_seed(seed)
    bilm = BiLM.from_config(config).eval().requires_grad_(False)
    return Model(config, bilm, ByteCharacters(), Vocabulary(WORDS) if softmax else None)


def tiny_word_model() -> Model:
    """A model whose input is whole words."""
    config = tiny_config().model_copy(update={"token_encoder": WordEncoderConfig(words=len(WORDS))})
    torch.manual_seed(1)
    vocabulary = Vocabulary(WORDS)
    return Model(config, BiLM.from_config(config).eval().requires_grad_(False), WholeWords(vocabulary.ids), vocabulary)

"""The model that training begins with: fresh, or made from any weights that can be loaded."""

import torch

from polyseme.errors import InputError
from polyseme.models.bilm import BiLM
from polyseme.models.config import (
    BiLMConfig,
    CharacterEncoderConfig,
    GatedCnnEncoderConfig,
    GruEncoderConfig,
    LstmEncoderConfig,
)
from polyseme.models.model import Model
from polyseme.text.characters import BYTE_CHARACTERS, BYTE_PADDING_ID, Indexer, UnicodeCharacters
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.lm.settings import Settings

FULL_UP_TO = 20_000
"""A vocabulary of so many words is cheap enough for the full softmax."""


def softmax_kind(settings: Settings, words: int) -> str:
    """Which objective is trained: full, sampled or adaptive.

    Raises:
        InputError: The vocabulary is too small for it.
    """
    kind = settings.softmax
    if kind == "auto":
        return "full" if words <= max(FULL_UP_TO, 2 * settings.samples) else "sampled"
    if kind == "sampled" and 2 * settings.samples > words:
        raise InputError(
            f"samples is {settings.samples:,} but the vocabulary has {words:,} words, of which at most half can be "
            f"drawn; use --samples {max(1, words // 2)} or --softmax full"
        )
    if kind == "adaptive" and settings.cutoffs and settings.cutoffs[-1] >= words:
        raise InputError(
            f"cutoffs {','.join(map(str, settings.cutoffs))} must stay below the vocabulary of {words:,} words; "
            f"use --cutoffs {max(1, words // 10)},{max(2, words // 2)} or --softmax full"
        )
    return kind


def fresh_model(settings: Settings, indexer: Indexer, vocabulary: Vocabulary) -> Model:
    """A model of random weights; the same for the same seed."""
    unicode = isinstance(indexer, UnicodeCharacters)
    encoder: LstmEncoderConfig | GruEncoderConfig | GatedCnnEncoderConfig
    match settings.encoder:
        case "lstm":
            encoder = LstmEncoderConfig(layers=settings.layers, hidden_dim=settings.hidden_dim)
        case "gru":
            encoder = GruEncoderConfig(layers=settings.layers, hidden_dim=settings.hidden_dim)
        case _:
            encoder = GatedCnnEncoderConfig(
                layers=settings.layers, hidden_dim=settings.hidden_dim, width=settings.width
            )
    adaptive = softmax_kind(settings, len(vocabulary)) == "adaptive"
    config = BiLMConfig(
        projection_dim=settings.projection_dim,
        token_encoder=CharacterEncoderConfig(
            alphabet="unicode" if unicode else "bytes",
            characters=len(indexer.characters) if isinstance(indexer, UnicodeCharacters) else BYTE_CHARACTERS,
            character_dim=settings.character_dim,
            max_characters=settings.max_characters,
            filters=settings.filters,
            highway_layers=settings.highway_layers,
            padding_id=indexer.padding_id if isinstance(indexer, UnicodeCharacters) else BYTE_PADDING_ID,
        ),
        encoder=encoder,
        vocabulary_size=len(vocabulary),
        softmax_cutoffs=settings.cutoffs if adaptive else (),
    )
    torch.manual_seed(settings.seed)
    bilm = BiLM.from_config(config)
    if not unicode:  # no byte has id 0, and HDF5 files do not have its row
        bilm.state_dict()["token_encoder.characters.embedding.weight"][0] = 0
    return Model(config, bilm, indexer, vocabulary)


def continued_model(start: Model, settings: Settings, vocabulary: Vocabulary) -> Model:
    """A model that goes on from loaded weights, with a fresh softmax where there is none for this vocabulary."""
    torch.manual_seed(settings.seed)
    if start.bilm.softmax is not None and start.vocabulary is vocabulary:
        config = start.bilm_config.model_copy(update={"source": "polyseme", "source_options": None})
        return Model(config, start.bilm, start.indexer, vocabulary)
    adaptive = softmax_kind(settings, len(vocabulary)) == "adaptive"
    config = BiLMConfig.model_validate(
        {
            **start.bilm_config.model_dump(),
            "vocabulary_size": len(vocabulary),
            "softmax_cutoffs": settings.cutoffs if adaptive else (),
            "source": "polyseme",
            "source_options": None,
        }
    )
    bilm = BiLM.from_config(config)
    missing, unexpected = bilm.load_state_dict(
        {name: tensor for name, tensor in start.bilm.state_dict().items() if not name.startswith("softmax.")},
        strict=False,
    )
    assert not unexpected
    assert all(name.startswith("softmax.") for name in missing)
    return Model(config, bilm, start.indexer, vocabulary)


def set_trained(bilm: BiLM, freeze: str) -> None:
    """Let all weights learn but those that are to stay."""
    bilm.requires_grad_(True)
    if freeze == "nothing":
        return
    bilm.token_encoder.requires_grad_(False)
    if freeze == "tokens":
        return
    bilm.encoder.requires_grad_(False)
    if freeze == "layers":
        for name in ("forward_layers", "backward_layers"):
            stack = getattr(bilm.encoder, name)
            stack[len(stack) - 1].requires_grad_(True)

"""Makes the model that training starts with: random weights, or those of any model that can be loaded."""

import torch

from polyseme.models.bilm import BiLM
from polyseme.models.config import (
    BiLMConfig,
    CharacterEncoderConfig,
    GatedCnnEncoderConfig,
    GruEncoderConfig,
    LstmEncoderConfig,
    WordEncoderConfig,
)
from polyseme.models.model import Model
from polyseme.text.characters import (
    BYTE_CHARACTERS,
    BYTE_PADDING_ID,
    ByteCharacters,
    Indexer,
    UnicodeCharacters,
    WholeWords,
)
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.lm.settings import LmSettings


def fresh_model(
    settings: LmSettings, indexer: Indexer, vocabulary: Vocabulary, *, cutoffs: tuple[int, ...] = ()
) -> Model:
    """A model with random weights; the same for the same seed.

    Args:
        settings: The settings of the run.
        indexer: Turns words into ids.
        vocabulary: Words to predict.
        cutoffs: The first word of each cluster of an adaptive softmax; empty for a full one.
    """
    config = BiLMConfig(
        projection_dim=settings.projection_dim,
        token_encoder=_token_encoder_config(settings, indexer),
        encoder=_encoder_config(settings),
        vocabulary_size=len(vocabulary),
        softmax_cutoffs=cutoffs,
    )
    torch.manual_seed(settings.seed)
    bilm = BiLM.from_config(config)
    if isinstance(indexer, ByteCharacters):  # no byte has id 0, and HDF5 files do not have this row
        bilm.state_dict()["token_encoder.characters.embedding.weight"][0] = 0
    return Model(config, bilm, indexer, vocabulary)


def _token_encoder_config(settings: LmSettings, indexer: Indexer) -> CharacterEncoderConfig | WordEncoderConfig:
    if isinstance(indexer, WholeWords):
        return WordEncoderConfig(words=len(indexer.words))
    unicode = isinstance(indexer, UnicodeCharacters)
    return CharacterEncoderConfig(
        alphabet="unicode" if unicode else "bytes",
        characters=len(indexer.characters) if isinstance(indexer, UnicodeCharacters) else BYTE_CHARACTERS,
        character_dim=settings.character_dim,
        max_characters=settings.max_characters,
        filters=settings.filters,
        highway_layers=settings.highway_layers,
        padding_id=indexer.padding_id if isinstance(indexer, UnicodeCharacters) else BYTE_PADDING_ID,
    )


def _encoder_config(settings: LmSettings) -> LstmEncoderConfig | GruEncoderConfig | GatedCnnEncoderConfig:
    layers, hidden_dim = settings.layers, settings.hidden_dim
    match settings.encoder:
        case "lstm":
            return LstmEncoderConfig(layers=layers, hidden_dim=hidden_dim)
        case "gru":
            return GruEncoderConfig(layers=layers, hidden_dim=hidden_dim)
        case "gated-cnn":
            return GatedCnnEncoderConfig(layers=layers, hidden_dim=hidden_dim, width=settings.width)


def continued_model(start: Model, vocabulary: Vocabulary, *, cutoffs: tuple[int, ...] = (), seed: int) -> Model:
    """A model with the weights of another one, and a new softmax if that has none for this vocabulary."""
    torch.manual_seed(seed)
    if start.bilm.softmax is not None and start.vocabulary is vocabulary:
        config = start.bilm_config.model_copy(update={"source": "polyseme", "source_options": None})
        return Model(config, start.bilm, start.indexer, vocabulary)
    config = BiLMConfig.model_validate(
        {
            **start.bilm_config.model_dump(),
            "vocabulary_size": len(vocabulary),
            "softmax_cutoffs": cutoffs,
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
    """Set which weights are trained: all except those that ``freeze`` names."""
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

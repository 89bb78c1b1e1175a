"""Translates bilm-tf's names and layouts of arrays to our own and back.

HDF5 files and TensorFlow checkpoints contain the same arrays, stored differently.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from polyseme.errors import FormatError, MissingPart
from polyseme.formats.assemble import assemble
from polyseme.formats.bilm_options import STORED_BYTE_CHARACTERS, to_config
from polyseme.formats.files import Files
from polyseme.formats.weights import Weights
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig
from polyseme.models.model import Model
from polyseme.text.characters import BYTE_CHARACTERS, ByteCharacters, Indexer, WholeWords
from polyseme.text.vocabulary import Vocabulary

_DIRECTIONS = (("forward_layers", 0), ("backward_layers", 1))


def from_arrays(
    files: Files, arrays: Weights, *, options: str, vocabulary: str | None, softmax: Weights, kind: str
) -> Model:
    """Make a model from arrays with bilm-tf's names."""
    asked_by = files.shown(options)
    settings = files.json(options)
    words = _vocabulary(files, vocabulary)
    config = to_config(settings, arrays, softmax, kind=kind, where=asked_by)
    if config.vocabulary_size and words and len(words) != config.vocabulary_size:
        raise FormatError(
            f"{_shown(files, vocabulary)}: {len(words):,} words but the softmax has {config.vocabulary_size:,}; "
            "use the vocabulary the model was trained with"
        )
    # First the arrays that are always stored and confirm all sizes: a missing projection is made from those sizes.
    tensors = _read_lstms(arrays, config, asked_by)
    if isinstance(config.token_encoder, CharacterEncoderConfig):
        tensors |= _read_character_encoder(arrays, config, config.token_encoder, asked_by)
    else:
        tensors["token_encoder.words.weight"] = arrays.take(
            "embedding", config.token_encoder.words, config.projection_dim, asked_by=asked_by
        )
    if config.vocabulary_size:
        size = config.vocabulary_size
        shared = "embedding" if "softmax/W" not in softmax else "softmax/W"  # bilm-tf can share the two
        tensors["softmax.weight"] = softmax.take(shared, size, config.projection_dim, asked_by=asked_by)
        tensors["softmax.bias"] = softmax.take("softmax/b", size, asked_by=asked_by)
    indexer = _indexer(config, words, weights=arrays.path, vocabulary=_shown(files, vocabulary))
    return Model(config, assemble(config, tensors, where=arrays.path), indexer, words)


def _indexer(config: BiLMConfig, words: Vocabulary | None, *, weights: str, vocabulary: str) -> Indexer:
    """Return what turns words into ids; the last two arguments name the files in messages."""
    if isinstance(config.token_encoder, CharacterEncoderConfig):
        return ByteCharacters(config.token_encoder.max_characters)
    if words is None:
        raise MissingPart(
            f"{weights}: a model whose input is whole words needs its vocabulary; give it with vocabulary=... "
            "or put vocab.txt next to the weights"
        )
    if len(words) != config.token_encoder.words:
        raise FormatError(f"{vocabulary}: {len(words):,} words but {weights} embeds {config.token_encoder.words:,}")
    return WholeWords(words.ids)


def _vocabulary(files: Files, name: str | None) -> Vocabulary | None:
    if name is None:
        return None
    lines = files.text(name).rstrip("\n").split("\n")  # not splitlines(): a word may contain U+2028
    return Vocabulary((line.strip(" \t\r") for line in lines), where=files.shown(name))


def _cell(direction: int, layer: int) -> str:
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"


def _stored_cell(arrays: Weights, direction: int, layer: int) -> str:
    """The prefix of the names of a cell's arrays; TensorFlow does not number a single layer."""
    single = f"RNN_{direction}/RNN/LSTMCell/"
    return single if layer == 0 and single + "W_0" in arrays else _cell(direction, layer)


def _projection(arrays: Weights, name: str, inputs: int, outputs: int, asked_by: str) -> Tensor:
    """A projection's weight (outputs, inputs); bilm-tf leaves it out if the two are equal."""
    if inputs == outputs and name not in arrays:
        return torch.eye(inputs)
    return arrays.take(name, inputs, outputs, asked_by=asked_by).t().contiguous()


def _read_character_encoder(
    arrays: Weights, config: BiLMConfig, encoder: CharacterEncoderConfig, asked_by: str
) -> dict[str, Tensor]:
    here = "token_encoder."
    dim = encoder.character_dim
    rows = arrays.shape("char_embed")[:1]
    # A file trained with n_characters 262 has one more row, which no character uses.
    stored = arrays.take(
        "char_embed", BYTE_CHARACTERS if rows == (BYTE_CHARACTERS,) else STORED_BYTE_CHARACTERS, dim, asked_by=asked_by
    )
    tensors = {here + "characters.embedding.weight": torch.cat([torch.zeros(1, dim), stored[:STORED_BYTE_CHARACTERS]])}
    for index, (width, count) in enumerate(encoder.filters):
        kernel = arrays.take(f"CNN/W_cnn_{index}", 1, width, dim, count, asked_by=asked_by)
        tensors[f"{here}characters.convolutions.{index}.weight"] = kernel[0].permute(2, 1, 0).contiguous()
        tensors[f"{here}characters.convolutions.{index}.bias"] = arrays.take(
            f"CNN/b_cnn_{index}", count, asked_by=asked_by
        )
    features = sum(count for _, count in encoder.filters)
    for index in range(encoder.highway_layers):
        name = f"CNN_high_{index}/"
        # bilm-tf's gate scales the transformed part, ours the input: the same gate with the opposite sign.
        transform = arrays.take(name + "W_transform", features, features, asked_by=asked_by).t()
        carry = arrays.take(name + "W_carry", features, features, asked_by=asked_by).t()
        tensors[f"{here}highways.{index}.weight"] = torch.cat([transform, -carry])
        tensors[f"{here}highways.{index}.bias"] = torch.cat(
            [
                arrays.take(name + "b_transform", features, asked_by=asked_by),
                -arrays.take(name + "b_carry", features, asked_by=asked_by),
            ]
        )
    width = config.projection_dim
    tensors[here + "projection.weight"] = _projection(arrays, "CNN_proj/W_proj", features, width, asked_by)
    bias = "CNN_proj/b_proj"
    bare = features == width and bias not in arrays
    tensors[here + "projection.bias"] = torch.zeros(width) if bare else arrays.take(bias, width, asked_by=asked_by)
    return tensors


def _read_lstms(arrays: Weights, config: BiLMConfig, asked_by: str) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    hidden, projection = config.encoder.hidden_dim, config.projection_dim
    for direction, number in _DIRECTIONS:
        for layer in range(config.encoder.layers):
            name, here = _stored_cell(arrays, number, layer), f"encoder.{direction}.{layer}."
            kernel = arrays.take(name + "W_0", 2 * projection, 4 * hidden, asked_by=asked_by)  # input rows first
            kernel = _swap_gates(kernel.t())
            tensors[here + "weight_ih"] = kernel[:, :projection].contiguous()
            tensors[here + "weight_hh"] = kernel[:, projection:].contiguous()
            tensors[here + "bias"] = _swap_gates(arrays.take(name + "B", 4 * hidden, asked_by=asked_by))
            tensors[here + "weight_hr"] = _projection(arrays, name + "W_P_0", hidden, projection, asked_by)
    return tensors


def _swap_gates(rows: Tensor) -> Tensor:
    """Reorder gates from (input, candidate, forget, output) to (input, forget, candidate, output), or back."""
    admit, second, third, emit = rows.chunk(4)
    return torch.cat([admit, third, second, emit])


def to_arrays(tensors: Mapping[str, Tensor], config: BiLMConfig, encoder: CharacterEncoderConfig) -> dict[str, Tensor]:
    """The network's tensors under bilm-tf's names, each step the inverse of reading."""
    here = "token_encoder."
    arrays = {"char_embed": tensors[here + "characters.embedding.weight"][1:]}
    for index in range(len(encoder.filters)):
        kernel = tensors[f"{here}characters.convolutions.{index}.weight"]  # (n, c, width)
        arrays[f"CNN/W_cnn_{index}"] = kernel.permute(2, 1, 0).unsqueeze(0)
        arrays[f"CNN/b_cnn_{index}"] = tensors[f"{here}characters.convolutions.{index}.bias"]
    for index in range(encoder.highway_layers):
        transform, carry = tensors[f"{here}highways.{index}.weight"].chunk(2)
        transform_bias, carry_bias = tensors[f"{here}highways.{index}.bias"].chunk(2)
        arrays[f"CNN_high_{index}/W_transform"], arrays[f"CNN_high_{index}/b_transform"] = transform.t(), transform_bias
        arrays[f"CNN_high_{index}/W_carry"], arrays[f"CNN_high_{index}/b_carry"] = -carry.t(), -carry_bias
    arrays["CNN_proj/W_proj"] = tensors[here + "projection.weight"].t()
    arrays["CNN_proj/b_proj"] = tensors[here + "projection.bias"]
    for direction, number in _DIRECTIONS:
        for layer in range(config.encoder.layers):
            name, cell = _cell(number, layer), f"encoder.{direction}.{layer}."
            kernel = torch.cat([tensors[cell + "weight_ih"], tensors[cell + "weight_hh"]], dim=1)  # (4H, 2P)
            arrays[name + "W_0"] = _swap_gates(kernel).t()
            arrays[name + "B"] = _swap_gates(tensors[cell + "bias"])
            arrays[name + "W_P_0"] = tensors[cell + "weight_hr"].t()
    return {name: tensor.cpu() for name, tensor in arrays.items()}


def _shown(files: Files, vocabulary: str | None) -> str:
    return files.shown(vocabulary) if vocabulary else "vocabulary"

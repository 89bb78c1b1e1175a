"""Translates the names under which AllenNLP's `Elmo` saves its tensors to our own.

All functions change a state dict in place, before a module reads it; a state under our own names stays as it is.
"""

import re

import torch
from torch import Tensor

from polyseme.models.bilm import BiLM
from polyseme.models.encoders import LstmEncoder
from polyseme.models.network import Network
from polyseme.nn.projected_lstm import ProjectedLstm
from polyseme.text.characters import BYTE_CHARACTERS

State = dict[str, Tensor]

_LSTM = r"_elmo_lstm\.(forward|backward)_layer_(\d+)\."
_EMBEDDING = r"_token_embedder\._char_embedding_weights"
_BIAS = _LSTM + r"state_linearity\.bias"
_NAMES = tuple(
    (re.compile(theirs), ours)
    for theirs, ours in (
        (_EMBEDDING, r"network.token_encoder.characters.embedding.weight"),
        (r"_token_embedder\.char_conv_(\d+)\.(\w+)", r"network.token_encoder.characters.convolutions.\1.\2"),
        (r"_token_embedder\._highways\._layers\.(\d+)\.(\w+)", r"network.token_encoder.highways.\1.\2"),
        (r"_token_embedder\._projection\.(\w+)", r"network.token_encoder.projection.\1"),
        (_LSTM + r"input_linearity\.weight", r"network.encoder.\1_layers.\2.weight_ih"),
        (_LSTM + r"state_linearity\.weight", r"network.encoder.\1_layers.\2.weight_hh"),
        (_BIAS, r"network.encoder.\1_layers.\2.bias"),
        (_LSTM + r"state_projection\.weight", r"network.encoder.\1_layers.\2.weight_hr"),
        (r"_word_embedding\.weight", r"cached.weight"),
        # Names that version 0.1 of this package gave them:
        (r"bilm\.(.+)", r"network.\1"),
        (r"_cached\.weight", r"cached.weight"),
    )
)


def rename_network(state: State, theirs: str, ours: str, network: Network) -> None:
    """Rename the tensors of AllenNLP's biLM, and give them our meaning.

    Args:
        state: Changed in place.
        theirs: The prefix of their names.
        ours: The prefix of our names.
        network: The network that gets the tensors.
    """
    for name in [name for name in state if name.startswith(theirs)]:
        for pattern, replacement in _NAMES:
            if match := pattern.fullmatch(name, len(theirs)):
                state[ours + match.expand(replacement)] = _converted(pattern.pattern, state.pop(name), network)
                break


def join_scalar_parameters(state: State, prefix: str) -> None:
    """Join the weights of AllenNLP's `ScalarMix`, one tensor (1,) per layer, into one tensor (L,)."""
    start = f"{prefix}scalar_parameters."
    theirs = sorted((name for name in state if name.startswith(start)), key=lambda name: (len(name), name))
    if theirs and f"{prefix}weights" not in state:
        state[f"{prefix}weights"] = torch.cat([state.pop(name).reshape(-1) for name in theirs])


def _converted(theirs: str, tensor: Tensor, network: Network) -> Tensor:
    if theirs == _EMBEDDING:
        return tensor[:BYTE_CHARACTERS]  # AllenNLP keeps an extra row of files with 262 rows, which no character uses
    if theirs == _BIAS and isinstance(network, BiLM) and isinstance(network.encoder, LstmEncoder):
        # AllenNLP adds the constant of the forget gate to its bias when it reads a file; here it is added at run time.
        layer = network.encoder.forward_layers[0]
        assert isinstance(layer, ProjectedLstm)
        admit, keep, candidate, emit = tensor.chunk(4)
        return torch.cat([admit, keep - layer.forget_bias, candidate, emit])
    return tensor

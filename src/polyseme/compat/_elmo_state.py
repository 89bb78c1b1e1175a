"""Weights of a biLM under the names that AllenNLP's `Elmo` saves them by."""

import re
from typing import Any

import torch
from torch import Tensor

from polyseme.models.bilm import BiLM
from polyseme.models.encoders import LstmEncoder
from polyseme.nn.projected_lstm import ProjectedLstm
from polyseme.text.characters import BYTE_CHARACTERS

_LSTM = r"_elmo_lstm\.(forward|backward)_layer_(\d+)\."
_NAMES = tuple(
    (re.compile(theirs), ours)
    for theirs, ours in (
        (r"_token_embedder\._char_embedding_weights", r"bilm.token_encoder.characters.embedding.weight"),
        (r"_token_embedder\.char_conv_(\d+)\.(\w+)", r"bilm.token_encoder.characters.convolutions.\1.\2"),
        (r"_token_embedder\._highways\._layers\.(\d+)\.(\w+)", r"bilm.token_encoder.highways.\1.\2"),
        (r"_token_embedder\._projection\.(\w+)", r"bilm.token_encoder.projection.\1"),
        (_LSTM + r"input_linearity\.weight", r"bilm.encoder.\1_layers.\2.weight_ih"),
        (_LSTM + r"state_linearity\.weight", r"bilm.encoder.\1_layers.\2.weight_hh"),
        (_LSTM + r"state_linearity\.bias", r"bilm.encoder.\1_layers.\2.bias"),
        (_LSTM + r"state_projection\.weight", r"bilm.encoder.\1_layers.\2.weight_hr"),
        (r"_word_embedding\.weight", r"_cached.weight"),
    )
)


def take_over(state: dict[str, Any], prefix: str, bilm: BiLM) -> None:
    """Give AllenNLP's tensors our names and meaning, in place; a state that has none of them stays as it is."""
    for name in [name for name in state if name.startswith(prefix)]:
        for theirs, ours in _NAMES:
            match = theirs.fullmatch(name, len(prefix))
            if match:
                own = match.expand(ours)
                state[prefix + own] = _converted(own, state.pop(name), bilm)


def _converted(name: str, tensor: Tensor, bilm: BiLM) -> Tensor:
    if name.endswith("characters.embedding.weight"):
        return tensor[:BYTE_CHARACTERS]  # of files with 262 rows AllenNLP keeps one more, which no character uses
    if name.startswith("bilm.encoder.") and name.endswith(".bias") and isinstance(bilm.encoder, LstmEncoder):
        # AllenNLP adds the constant of the forget gate to its bias when it reads a file; here it is added at run time.
        layer = bilm.encoder.forward_layers[0]
        assert isinstance(layer, ProjectedLstm)
        admit, keep, candidate, emit = tensor.chunk(4)
        return torch.cat([admit, keep - layer.forget_bias, candidate, emit])
    return tensor

"""Which weights of a biLM are matrices between layers, for an optimiser that treats them as such."""

from torch import nn

from polyseme.models.bilm import BiLM
from polyseme.models.gated_cnn_encoder import GatedConvolution
from polyseme.models.gru_encoder import ProjectedGru
from polyseme.models.token_encoders import CharacterTokenEncoder
from polyseme.nn.highway import Highway
from polyseme.nn.projected_lstm import ProjectedLstm
from polyseme.train.engine.muon import Matrix


def hidden_matrices(bilm: BiLM) -> list[Matrix]:
    """All but embeddings and the softmax, which are tables of rows; with how many gates each is stored together."""
    return [
        matrix for part in (bilm.token_encoder, bilm.encoder) for module in part.modules() for matrix in _of(module)
    ]


def _of(module: nn.Module) -> list[Matrix]:
    match module:
        case ProjectedLstm():
            return [Matrix(module.weight_ih, 4), Matrix(module.weight_hh, 4), Matrix(module.weight_hr)]
        case ProjectedGru():
            cells = dict(module.cells.named_parameters())
            return [
                Matrix(cells["weight_ih_l0"], 3),
                Matrix(cells["weight_hh_l0"], 3),
                Matrix(module.projection.weight),
            ]
        case GatedConvolution():
            return [Matrix(module.convolution.weight, 2), Matrix(module.projection.weight)]
        case Highway():
            return [Matrix(module.weight, 2)]
        case CharacterTokenEncoder():
            return [Matrix(module.projection.weight)]
        case _:
            return []

"""A tiny random CoVe model for tests."""

import torch

from polyseme.models.model import Model
from polyseme.models.mt_lstm import cove_model
from polyseme.nn.bilstm import BiLstm

WORDS = ("the", "river", "bank", "Paris", "of", "New York")


def tiny_lstm(*, hidden_dim: int = 4, input_dim: int = 4, layers: int = 2) -> BiLstm:
    torch.manual_seed(5)
    return BiLstm(input_dim=input_dim, hidden_dim=hidden_dim, layers=layers).eval().requires_grad_(False)


def tiny_vectors(dim: int = 4) -> torch.Tensor:
    torch.manual_seed(6)
    return torch.randn(len(WORDS), dim)


def tiny_cove(*, hidden_dim: int = 4, input_dim: int = 4, case_backoff: bool = False) -> Model:
    lstm = tiny_lstm(hidden_dim=hidden_dim, input_dim=input_dim)
    return cove_model(WORDS, tiny_vectors(input_dim), lstm, case_backoff=case_backoff)
